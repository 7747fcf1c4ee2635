import { expect, test } from "vitest";
import { checkSchemaName } from "../../src/database/names.js";
import { setup } from "../support/world.js";

/** Names of schemas stand unquoted in SQL. "time" and other key words that may name a column were taken, and failed in the middle. */

/** As the migrations use a schema: of a table, of a function in an expression, of a type, and in PL/pgSQL. */
const uses = (word: string): readonly string[] => [
  `select from ${word}.inbox`,
  `select 1 where true and ${word}.is_due()`,
  `select null::${word}.workers`,
  `create function pg_temp.f() returns int language plpgsql as $$ begin for v in 1..${word}.next_token() loop null; end loop; end $$`,
];
const stateOf = (error: { code: string }): string => error.code;

test("every key word of the server that can't name a schema is refused before any SQL", async () => {
  const world = await setup();
  const client = await world.client();
  const { rows } = await client.query<{ word: string; catcode: string }>(
    "select word, catcode from pg_get_keywords() order by word",
  );
  expect(rows.length).toBeGreaterThan(400);
  const taken: string[] = [];
  for (const { word, catcode } of rows) {
    const states = await Promise.all(uses(word).map((text) => client.query(text).then(() => null, stateOf)));
    const isRefused = states.includes("42601");
    expect({ word, isRefused }).toEqual({ word, isRefused: catcode !== "U" });
    try {
      checkSchemaName(word);
      taken.push(word);
    } catch (error) {
      expect(error).toMatchObject({ code: "LH_INVALID_NAME" });
    }
  }
  expect(taken).toEqual(rows.filter(({ catcode }) => catcode === "U").map(({ word }) => word));
});

test.each(["time", "between", "values", "loop"])("the schema %s is refused with a code", async (schema) => {
  const world = await setup();
  await expect(world.connect({ schema })).rejects.toMatchObject({
    code: "LH_INVALID_NAME",
    message: expect.stringContaining("key word"),
  });
});

test("a queue may have the name of any key word, also one that is reserved", async () => {
  const world = await setup();
  const names = ["select", "time", "between", "values", "loop", "table", "user", "authorization", "left"];
  for (const name of names) {
    const queue = await world.queue(name, { order: name.length % 2 === 0 ? "key" : "none" });
    await queue.enqueue("k", name, { idempotencyKey: "a" });
    const jobs = await queue.claim({ workerId: "w" });
    expect(jobs.map(({ payload }) => payload)).toEqual([name]);
    expect(await queue.complete(jobs[0]!)).toBe(true);
    await world.lh.dropQueue(name);
  }
});
