import pg from "pg";
import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

/** A migration added a column with its check in one step. PostgreSQL then reads the whole table while nobody can read or write it. */

interface Reads {
  readonly rows: string;
  readonly file: string;
}

async function readsOf(world: World): Promise<Reads | undefined> {
  const [reads] = await world.sql<Reads>(
    `select pg_stat_get_tuples_returned(t) as rows, pg_relation_filenode(t) as file
     from (select 'leasehold.inbox'::regclass as t) t, pg_stat_clear_snapshot()`,
  );
  return reads;
}

/** On connections of their own, which have told what they have read when this is over: a backend does so before it leaves pg_stat_activity. */
async function apart<T>(world: World, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const name = `reads ${world.schema}`;
  const pool = new pg.Pool({ connectionString: world.url, application_name: name });
  const result = await work(pool);
  await pool.end();
  const left = () => world.sql("select pid from pg_stat_activity where application_name = $1", [name]);
  await expect.poll(left, { timeout: 20_000 }).toEqual([]);
  return result;
}

test("a queue of an earlier version is migrated without a read or a rewrite of its table", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(Array.from({ length: 2_000 }, (_, n) => ({ kind: "k", payload: n })));
  await world.sql(
    "alter table leasehold.inbox drop column bytes; delete from leasehold.migrations where queue = 'inbox'",
  );
  await world.sql("alter table leasehold.inbox set (autovacuum_enabled = off)");
  const before = await readsOf(world);
  const ran = await apart(world, async (pool) => {
    const lh = await world.connect({ pool, url: undefined });
    return await lh.migrate();
  });
  expect(ran).toBeGreaterThan(5);
  expect(await readsOf(world)).toEqual(before);

  // A read on such a connection is seen.
  const text = `select count(*)::int as rows from ${world.schema}.inbox where bytes = 0`;
  expect((await apart(world, (pool) => pool.query(text))).rows).toEqual([{ rows: 2_000 }]);
  expect(Number((await readsOf(world))?.rows) - Number(before?.rows)).toBe(2_000);
});
