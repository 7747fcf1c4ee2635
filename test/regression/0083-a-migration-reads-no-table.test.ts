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

test("a queue of an earlier version is migrated without a read or a rewrite of its table", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(Array.from({ length: 2_000 }, (_, n) => ({ kind: "k", payload: n })));
  await world.sql(
    "alter table leasehold.inbox drop column bytes; delete from leasehold.migrations where queue = 'inbox'",
  );
  await world.sql("alter table leasehold.inbox set (autovacuum_enabled = off)");
  const before = await readsOf(world);
  expect(await world.lh.migrate()).toBeGreaterThan(5);
  // Statistics of a connection are told when it has been idle for a second, or ends.
  await world.lh.close();
  let after = await readsOf(world);
  for (let tries = 0; tries < 20 && after?.rows === before?.rows; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    after = await readsOf(world);
  }
  expect(after).toEqual(before);
  expect(await world.sql("select count(*)::int as rows from leasehold.inbox where bytes = 0")).toEqual([
    { rows: 2_000 },
  ]);
});
