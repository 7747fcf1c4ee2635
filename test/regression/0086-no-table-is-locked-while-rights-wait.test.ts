import { expect, test } from "vitest";
import { ownDatabase } from "../support/own-database.js";
import { setup } from "../support/world.js";

/**
 * A migration locked its tables, then changed the default rights of its role. While the same role migrated another schema of the database, it waited for that, and nobody
 * could work on the tables it had locked.
 */
test("a migration that waits for the default rights of its role holds no table", async () => {
  const world = await setup({}, (await ownDatabase()).href);
  await world.queue();
  await world.sql("delete from leasehold.migrations where queue = 'inbox' and id = 3");
  const other = await world.client();
  await other.query("begin; alter default privileges revoke execute on functions from public");
  const migrated = world.lh.migrate();
  migrated.catch(() => {}); // Reported below, not while it is waited for.

  // Waits for the transaction of the other, which has written the same row of pg_default_acl.
  const held = async () =>
    await world.sql<{ mode: string | null }>(
      `select t.mode from pg_locks w
       left join pg_locks t on t.pid = w.pid and t.granted and t.relation = 'leasehold.inbox'::regclass and t.mode <> 'AccessShareLock'
       where not w.granted and w.locktype = 'transactionid' and pg_blocking_pids(w.pid) @> array[$1::int]`,
      [(other as unknown as { processID: number }).processID],
    );
  await expect.poll(held, { timeout: 20_000 }).toEqual([{ mode: null }]);
  await other.query("rollback");
  expect(await migrated).toBe(1);
});
