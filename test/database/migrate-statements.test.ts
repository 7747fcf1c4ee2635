import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { parseStatements } from "../../scripts/generate/parse-statements.js";
import { parameterType } from "../../scripts/generate/sql-types.js";
import { splitBlocks } from "../../scripts/generate/statement-blocks.js";
import { headerItems } from "../../scripts/generate/statement-header.js";
import { withNames } from "../../src/database/names.js";
import * as generated from "../../src/database/statements.generated.js";
import { setup } from "../support/world.js";

interface Description {
  readonly parameters: readonly number[];
  readonly columns: readonly { readonly name: string; readonly dataTypeID: number }[];
}

/** Has the server parse and describe a statement, as a driver does that prepares it, without running it. */
class Describe implements pg.Submittable {
  readonly answer: Promise<Description>;
  readonly #text: string;
  #parameters: readonly number[] = [];
  #columns: Description["columns"] = [];
  #resolve: (description: Description) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(text: string) {
    this.#text = text;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  submit(connection: pg.Connection): void {
    connection.once("parameterDescription", (message: { readonly dataTypeIDs: readonly number[] }) => {
      this.#parameters = message.dataTypeIDs;
    });
    connection.parse({ name: "", text: this.#text, types: [] }, true);
    connection.describe({ type: "S", name: "" }, true);
    connection.sync();
  }

  handleRowDescription(message: { readonly fields: Description["columns"] }): void {
    this.#columns = message.fields;
  }

  handleError(error: unknown): void {
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#resolve({ parameters: this.#parameters, columns: this.#columns });
  }
}

const files = readdirSync("sql/statements")
  .sort()
  .map((name) => ({ path: `sql/statements/${name}`, text: readFileSync(`sql/statements/${name}`, "utf8") }));

/** The statements as the library holds them, with what their headers say about parameters and columns. */
const statements = Object.values(generated).map((statement) => {
  const block = files.flatMap(splitBlocks).find(({ name }) => name === statement.name);
  const parsed = parseStatements(files).find(({ name }) => name === statement.name);
  if (block === undefined || parsed === undefined) throw new Error(`${statement.name} is in no file`);
  const columns = headerItems(block, "row")
    .filter(({ text }) => text !== "none")
    .map(({ text }) => text.replace(/\?$/, "").split(/ (.*)/));
  return { ...statement, parsed, columns: columns.map(([name = "", type = ""]) => ({ name, type })) };
});

test("the library holds every statement of sql/statements and no other, word for word", () => {
  expect(statements.map(({ name }) => name).sort()).toEqual(
    parseStatements(files)
      .map(({ name }) => name)
      .sort(),
  );
  for (const { text, parsed } of statements) expect(text).toBe(parsed.text);
});

test.each(["key", "none"] as const)(
  "the server accepts every statement on a queue with order %s, with the columns declared",
  async (order) => {
    const world = await setup();
    await world.queue("work", { order });
    const client = await world.client();
    const { rows } = await client.query<{ oid: number; name: string }>(
      "select oid, format_type(oid, null) as name from pg_type",
    );
    const typeNames = new Map(
      rows.map(({ oid, name }) => [oid, name.replace("timestamp with time zone", "timestamptz")]),
    );
    const aliases: Readonly<Record<string, string>> = { int: "integer", float8: "double precision" };
    for (const { name, text, parsed, columns } of statements) {
      const described = await client.query(
        new Describe(withNames(text, { schema: world.schema, queue: "work" })),
      ).answer;
      const found = described.columns.map((column) => ({
        name: column.name,
        type: typeNames.get(column.dataTypeID),
      }));
      expect(found, name).toEqual(
        columns.map(({ name: column, type }) => ({ name: column, type: aliases[type] ?? type })),
      );
      const parameters = described.parameters.map((oid) => parameterType(typeNames.get(oid) ?? ""));
      expect(parameters, name).toEqual(parsed.parameters.map(({ type }) => type.replace(" | null", "")));
    }
  },
);

test("a statement that the server refuses fails this way of asking", async () => {
  const world = await setup();
  const client = await world.client();
  await expect(client.query(new Describe("select nothing from nowhere")).answer).rejects.toMatchObject({
    code: "42P01",
  });
  expect((await client.query(new Describe("select 1::int as one, $1::text")).answer).columns).toHaveLength(2);
});

test.each(["key", "none"] as const)(
  "every statement can be prepared under the name the driver gives it (order %s)",
  async (order) => {
    const world = await setup();
    const schema = `${world.schema}_`.padEnd(48, "s");
    const queue = "q".repeat(48);
    onTestFinished(async () => void (await world.sql(`drop schema if exists ${schema} cascade`)));
    const lh = await world.connect({ schema });
    await lh.migrate();
    await lh.queue(queue, { order });
    const client = await world.client();
    for (const { name, text } of statements) {
      await client.query(`prepare lh_${name} as ${withNames(text, { schema, queue })}`);
    }
    const { rows } = await client.query("select name from pg_prepared_statements where name like 'lh\\_%'");
    expect(rows).toHaveLength(statements.length);
    await world.sql(`drop schema ${schema} cascade`);
  },
);
