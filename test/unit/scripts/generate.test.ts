import { describe, expect, it } from "vitest";
import { objectNames } from "../../../scripts/generate/object-names.js";
import { parseMigrations } from "../../../scripts/generate/parse-migrations.js";
import { type ParsedStatement, parseStatements } from "../../../scripts/generate/parse-statements.js";
import { renderMigrations, renderStatements } from "../../../scripts/generate/render.js";
import { tokenizeSql } from "../../../scripts/generate/sql-tokens.js";

function statement(text: string): ParsedStatement {
  const [first] = parseStatements([{ path: "sql/statements/sample.sql", text: `-- name: sample\n${text}` }]);
  if (first === undefined) throw new Error("the sample holds no statement");
  return first;
}

function failure(text: string): string {
  try {
    parseStatements([{ path: "s.sql", text }]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "no failure";
}

describe("a statement's parameters", () => {
  it("are numbered by first appearance and keep their casts", () => {
    const { text, parameters } = statement(
      "select :b::text, :a::int, :b where x > coalesce(:now::timestamptz, now());",
    );
    expect(text).toBe("select $1::text, $2::int, $1 where x > coalesce($3::timestamptz, pg_catalog.now())");
    expect(parameters).toEqual([
      { name: "b", type: "string" },
      { name: "a", type: "number" },
      { name: "now", type: "Date" },
    ]);
  });

  it.each([
    ["a cast of a column", "select id::text, (x)::int from t"],
    ["a colon in a string", "select ':a', 'it''s :b' from t"],
    ["a colon in an escape string", "select E'\\':a\\\\', e':b' from t"],
    ["a colon in a quoted identifier", 'select "x:y", ":z" from t'],
    ["a colon in dollar-quoted text", "select $$ :a $$, $body$ :b $$ :c $body$ from t"],
    ["a named argument", "select f(lease => 1, other := 2)"],
    ["an array slice", "select x[1:2], x[1:n] from t"],
  ])("are not seen in %s", (_case, sql) => {
    const parsed = statement(`${sql};`);
    expect(parsed.text).toBe(sql);
    expect(parsed.parameters).toEqual([]);
  });

  it.each([
    ["int", "number"],
    ["integer", "number"],
    ["smallint", "number"],
    ["float8", "number"],
    ["double precision", "number"],
    ["numeric", "number"],
    ["bigint", "bigint"],
    ["text", "string"],
    ["uuid", "string"],
    ["boolean", "boolean"],
    ["timestamptz", "Date"],
    ["jsonb", "string"],
    ["json", "string"],
    ["interval", "string"],
    ["uuid[]", "readonly string[]"],
    ["bigint []", "readonly bigint[]"],
  ])("cast to %s are %s", (cast, type) => {
    expect(statement(`select :p::${cast}`).parameters).toEqual([{ name: "p", type }]);
  });

  it("take their type from the first cast, even when a bare use comes before it", () => {
    const { parameters } = statement("select :ids, :ids::text[], :ids::uuid[]");
    expect(parameters).toEqual([{ name: "ids", type: "readonly string[]" }]);
    expect(statement("select :n::bigint, :n::int").parameters[0]?.type).toBe("bigint");
  });

  it("are camelCase outside and nullable when the header says so", () => {
    const { parameters } = statement(
      "-- nullable: lease_now\nselect :lease_now::timestamptz, :worker_id::text",
    );
    expect(parameters).toEqual([
      { name: "leaseNow", type: "Date | null" },
      { name: "workerId", type: "string" },
    ]);
  });
});

describe("a statement's text", () => {
  it("loses its comments and the lines they leave empty, and nothing else", () => {
    const { text } = statement(`-- Locks nothing.
select a, -- the first :x
       /* inner /* nested :y */ still */
       b/**/c,
       -- whole line
       '-- not a comment

  kept' as d,
       $x$ -- kept $x$;
`);
    expect(text).toBe(
      "select a,\n       b c,\n       '-- not a comment\n\n  kept' as d,\n       $x$ -- kept $x$",
    );
  });

  it("of two blocks ends where the next one begins", () => {
    const parsed = parseStatements([
      {
        path: "a.sql",
        text: "-- About this file.\n\n-- name: one\nselect 1;\n\n-- name: two\nselect '\n-- name: x';\n",
      },
    ]);
    expect(parsed.map(({ name, text }) => [name, text])).toEqual([
      ["one", "select 1"],
      ["two", "select '\n-- name: x'"],
    ]);
  });

  it("is not cut by a name that stands at the end of a line", () => {
    expect(statement("select 1 -- name: other\n  + 1;").text).toBe("select 1\n  + 1");
  });

  it("is cut into tokens that join to the input", () => {
    const sql = "select 'a''b', E'\\'', \"c\"\"d\", $1$2, a$b$c, $t$ x $t$ /* /* */ */ -- end";
    const tokens = tokenizeSql(sql);
    expect(tokens.map((token) => token.text).join("")).toBe(sql);
    expect(tokens.filter((token) => token.kind === "literal").map((token) => token.text)).toEqual([
      "'a''b'",
      "'\\''",
      '"c""d"',
      "$t$ x $t$",
    ]);
  });
});

describe("a statement's row", () => {
  it("has the types that the driver gives back", () => {
    const { columns } = statement(
      "-- row: id uuid, seq bigint, cost numeric, n int, r double precision, last_error text?\n" +
        "-- row: at timestamptz?, ok boolean, payload jsonb?, ids uuid[], ns int[]?, bs bigint[]\nselect 1",
    );
    expect(Object.fromEntries(columns.map(({ name, type }) => [name, type]))).toEqual({
      id: "string",
      seq: "string",
      cost: "string",
      n: "number",
      r: "number",
      last_error: "string | null",
      at: "Date | null",
      ok: "boolean",
      payload: "unknown",
      ids: "string[]",
      ns: "number[] | null",
      bs: "string[]",
    });
  });

  it("is empty when the header says none or nothing", () => {
    expect(statement("-- row: none\nselect 1").columns).toEqual([]);
    expect(statement("select 1").columns).toEqual([]);
  });
});

describe("a mistake in a statement file is told with file and line", () => {
  it.each([
    ["a parameter without a cast", "-- name: a\nselect :x", "s.sql:1: a: uses :x without a cast"],
    ["an unknown cast", "-- name: a\nselect 1,\n  :x::money", "s.sql:3: a: parameter :x is cast to money"],
    ["an unknown column type", "-- name: a\n-- row: x point\nselect 1", "s.sql:2: a: column x is point"],
    ["a column without a type", "-- name: a\n-- row: x\nselect 1", 's.sql:2: a: "x" is not a column'],
    ["a column twice", "-- name: a\n-- row: x int, x int\nselect 1", "s.sql:2: a: column x is named twice"],
    ["a stray nullable", "-- name: a\n-- nullable: y\nselect 1", "s.sql:2: a: nullable names y"],
    ["a header below the SQL", "-- name: a\nselect 1\n-- row: x int", 's.sql:3: a: "-- row:" stands below'],
    ["two statements", "-- name: a\nselect 1;\nselect 2;", "s.sql:2: a: more than one statement"],
    ["SQL after the semicolon", "-- name: a\nselect 1; select 2", "s.sql:2: a: more than one statement"],
    ["a numbered parameter", "-- name: a\nselect $1", "s.sql:2: a: numbered parameter"],
    ["no SQL", "-- name: a\n-- Nothing.\n", "s.sql:1: a: has no SQL"],
    ["only a semicolon", "-- name: a\n;\n", "s.sql:1: a: has no SQL"],
    ["SQL without a name", "-- Hello.\nselect 1;", "s.sql:2: SQL outside a block"],
    ["a bad name", "-- name: Claim-Jobs\nselect 1", 's.sql:1: "Claim-Jobs" is not a statement name'],
    [
      "a name twice",
      "-- name: a\nselect 1;\n-- name: a\nselect 2",
      "s.sql:3: a is already defined at s.sql:1",
    ],
    ["an open string", "-- name: a\nselect 'x", "s.sql:2: the text that begins here is not closed"],
    ["an open comment", "-- name: a\n\n/* x", "s.sql:3: the comment that begins here is not closed"],
    [
      "an open dollar quote",
      "-- name: a\nselect $b$ x $$",
      "s.sql:2: the text that begins here is not closed",
    ],
  ])("%s", (_case, text, message) => {
    expect(failure(text)).toContain(message);
  });
});

describe("the written TypeScript", () => {
  it("declares each statement with its types", () => {
    const rendered = renderStatements([
      statement(
        "-- nullable: now\n-- row: id uuid, state text?\nselect :now::timestamptz, :worker_id::text;",
      ),
    ]);
    expect(rendered).toBe(`// Generated by scripts/generate.ts from sql/. Do not edit; run npm run generate.

import type { Statement } from "../seams/database.js";

/** sql/statements/sample.sql */
export const sample: Statement<
  { readonly now: Date | null; readonly workerId: string },
  { readonly id: string; readonly state: string | null }
> = {
  name: "sample",
  text: \`select $1::timestamptz, $2::text\`,
  parameters: ["now", "workerId"],
};
`);
  });

  it("escapes what a template literal would read", () => {
    const sql = `select E'\\n\`', '$\{x}', '$1 \\\\'`;
    const rendered = renderStatements([statement(sql)]);
    const literal = /text: (`[\s\S]*`),\n/.exec(rendered)?.[1] ?? "";
    expect(new Function(`return ${literal}`)()).toBe(sql);
  });

  it("uses a record of nothing for a statement without parameters and rows", () => {
    expect(renderStatements([statement("select 1")])).toContain(
      "Statement<\n  Record<string, never>,\n  Record<string, never>\n>",
    );
  });

  it("holds migrations and grants whole, comments too", () => {
    const sql = "--! scope: queue\n--! order: key\n-- Why.\ncreate table q (a text default '`');\n";
    const rendered = renderMigrations(
      parseMigrations([{ path: "sql/migrations/0001_first_step.sql", text: sql }]),
      {
        schema: "grant a;\n",
        queue: "grant b;\n",
      },
    );
    expect(rendered).toContain(
      '    id: 1,\n    name: "first_step",\n    scope: "queue",\n    order: "key",\n',
    );
    expect(rendered).toContain(sql.replace("`", "\\`"));
    expect(rendered).toContain("  schema: `grant a;\n`,\n  queue: `grant b;\n`,\n");
  });
});

describe("the names of what migrations create", () => {
  const parsed = (sql: string) =>
    parseMigrations([{ path: "sql/migrations/0001_a.sql", text: `--! scope: queue\n${sql}` }]);

  it("are those of the code, apart for the schema and for a queue, without those of comments and literals", () => {
    const sql = [
      "create table if not exists leasehold.inbox (id int); create unique index inbox_ids on leasehold.inbox (id);",
      "create or replace view leasehold.seen as select 1; create sequence leasehold.inbox_seq; -- create table leasehold.no (id int)",
      "create or replace function leasehold.inbox_do() returns void language plpgsql as $$ begin create table leasehold.nor (a int); end $$;",
      "create function leasehold.backoff() returns int language sql as 'select 1';",
    ];
    expect(objectNames(parsed(sql.join("\n")))).toEqual({
      schema: { relations: ["seen"], functions: ["backoff"] },
      queue: { relations: ["_ids", "_seq"], functions: ["_do"] },
    });
  });

  it("leave room for a queue's name of 48 characters", () => {
    expect(() => objectNames(parsed("create table leasehold.inbox_a_long_ending (id int);"))).not.toThrow();
    expect(() => objectNames(parsed("create table leasehold.inbox_a_longer_ending (id int);"))).toThrow(
      /shorten it by 1/,
    );
  });
});

describe("migrations", () => {
  const ok = "--! scope: schema\nselect 1;\n";

  it("are sorted by id and have no order unless they say so", () => {
    const parsed = parseMigrations([
      { path: "sql/migrations/0002_b.sql", text: ok },
      { path: "sql/migrations/0001_a.sql", text: ok },
    ]);
    expect(parsed.map(({ id, name, scope, order }) => ({ id, name, scope, order }))).toEqual([
      { id: 1, name: "a", scope: "schema", order: null },
      { id: 2, name: "b", scope: "schema", order: null },
    ]);
  });

  it.each([
    [
      "a gap",
      [
        ["0001_a.sql", ok],
        ["0003_c.sql", ok],
      ],
      "0003_c.sql:1: migration 3 stands where 2 is due",
    ],
    [
      "a number twice",
      [
        ["0001_a.sql", ok],
        ["0001_b.sql", ok],
      ],
      "0001_b.sql:1: migration 1 stands where 2",
    ],
    ["a wrong name", [["1_a.sql", ok]], "1_a.sql:1: not a migration's name"],
    ["no scope", [["0001_a.sql", "select 1;"]], "0001_a.sql:1: says no scope"],
    ["a wrong scope", [["0001_a.sql", "--! scope: table"]], "0001_a.sql:1: says no scope"],
    ["a wrong order", [["0001_a.sql", "--! scope: queue\n--! order: fifo"]], 'order "fifo" is unknown'],
    [
      "an order of a schema",
      [["0001_a.sql", "--! scope: schema\n--! order: key"]],
      "an order belongs to a queue",
    ],
    [
      "an unknown header",
      [["0001_a.sql", "--! scope: queue\n--! sort: key"]],
      '0001_a.sql:2: "--! sort: key" is not',
    ],
    [
      "a header twice",
      [["0001_a.sql", "--! scope: queue\n--! scope: queue"]],
      "0001_a.sql:2: scope is given twice",
    ],
    ["a late header", [["0001_a.sql", "select 1;\n--! scope: queue"]], "0001_a.sql:2: header below the SQL"],
  ])("with %s are refused", (_case, files, message) => {
    expect(() => parseMigrations(files.map(([path = "", text = ""]) => ({ path, text })))).toThrow(message);
  });
});
