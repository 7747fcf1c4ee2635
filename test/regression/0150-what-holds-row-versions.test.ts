import { expect, onTestFinished, test } from "vitest";
import { binder } from "../../src/database/bind.js";
import { listSnapshotHolders, readServerHealth } from "../../src/database/statements.generated.js";
import { diagnose } from "../../src/index.js";
import { ownDatabase } from "../support/own-database.js";
import { setup, type World } from "../support/world.js";
import { until } from "../worker/worker-world.js";

const bind = binder({ schema: "leasehold", queue: "inbox" });

/** Every inactive slot was said to keep old row versions, also one that holds WAL only, and was to be dropped. */
test("a slot without a snapshot is not said to hold old row versions", async () => {
  const world = await setup();
  const slot = `held_${process.pid}`;
  await world.sql("select pg_create_physical_replication_slot($1)", [slot]);
  onTestFinished(async () => {
    await world.sql("select pg_drop_replication_slot($1)", [slot]);
  });
  const { findings } = await diagnose(world.lh);
  expect(findings.map(({ evidence }) => evidence.name)).not.toContain(slot);
});

/** The list ended after five, by transactions: short statements that see as far back as a session took its place. */
test("the session with the oldest transaction is listed, whatever else sees as far back", async () => {
  const world = await setup({}, (await ownDatabase()).href);
  const others = [await world.client(), await world.client(), await world.client()];
  const old = await world.client();
  await old.query("begin");
  await old.query("select pg_current_xact_id()");
  const { rows } = await old.query<{ pid: string }>("select pg_backend_pid()::text as pid");
  for (const young of others) {
    await young.query("begin isolation level repeatable read");
    await young.query("select 1");
  }
  const { text, values } = bind(listSnapshotHolders, { limit: 1 });
  const listed = await world.sql<{ sort: string; name: string }>(text, [...values]);
  expect(listed.filter(({ sort }) => sort === "session").map(({ name }) => name)).toEqual([rows[0]?.pid]);
});

async function pidOf(client: Awaited<ReturnType<World["client"]>>): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
}

/** The age of the statement was taken for its wait, so one that had run for long before hid the one that has waited for the longest. */
test("the longest wait for a lock is that of the lock, not the age of the statement", async () => {
  const world = await setup({}, (await ownDatabase()).href);
  const [holder, slow, waiter] = [await world.client(), await world.client(), await world.client()];
  await holder.query("select pg_advisory_lock(1), pg_advisory_lock(2)");
  const [slowPid, waiterPid] = [await pidOf(slow), await pidOf(waiter)];
  const waitsFor = (pid: number, key: number): Promise<void> =>
    until(`${pid} waits for ${key}`, async () => {
      const found = await world.sql(
        "select 1 from pg_locks where pid = $1 and objid = $2 and not granted and waitstart is not null",
        [pid, key],
      );
      return found.length > 0;
    });
  const first = slow.query(
    "do $$ begin perform pg_advisory_xact_lock(1); perform pg_advisory_xact_lock(2); end $$",
  );
  await waitsFor(slowPid, 1);
  const second = waiter.query("select pg_advisory_lock(2) as longest");
  await waitsFor(waiterPid, 2);
  await holder.query("select pg_advisory_unlock(1)");
  await waitsFor(slowPid, 2);
  const { text, values } = bind(readServerHealth, { now: null });
  const [health] = await world.sql<{ lock_waits: number; lock_waiter: string }>(text, [...values]);
  expect(health).toMatchObject({ lock_waits: 2, lock_waiter: "select pg_advisory_lock(2) as longest" });
  await holder.query("select pg_advisory_unlock(2)");
  await second;
  await waiter.query("select pg_advisory_unlock(2)");
  await first;
});
