import { expect, test } from "vitest";
import type { Queue } from "../../src/index.js";
import { caughtUp, contents, logicalServer, onClient, subscribe } from "../support/logical-replication.js";
import { settableClock, setup, type World } from "../support/world.js";

/** Tables without a replica identity: with a publication for all tables the server refused every update and delete on them (55000). */

const dayMs = 86_400_000;
/** A new queue makes its first days by the real date. */
const start = new Date();

/** Every step of a job's life on a queue: retry, completion, dead letter, redrive, discard, release, renewal. */
async function live(queue: Queue, clock: { advance(ms: number): void }): Promise<void> {
  for (const nth of [1, 2, 3, 4])
    await queue.enqueue(
      "step",
      { nth },
      { partitionKey: `k${nth}`, maxAttempts: 1, idempotencyKey: `${nth}` },
    );
  await queue.enqueue("later", {}, { partitionKey: "k5", delayMs: 60_000 });
  const [done, dead, poison, released] = await queue.claim({ workerId: "w", limit: 4 });
  if (!done || !dead || !poison || !released) throw new Error("four jobs were to be claimed");
  expect((await queue.renew(done)).state).toBe("renewed");
  expect(await queue.complete(done)).toBe(true);
  expect(await queue.fail(dead, new Error("no"))).toBe(true);
  expect(await queue.fail(poison, new Error("no"))).toBe(true);
  expect(await queue.release(released)).toBe(true);
  expect(await queue.retry({ ids: [dead.id] })).toBe(1);
  expect(await queue.discard({ ids: [poison.id] })).toBe(1);
  clock.advance(120_000);
  for (const job of await queue.claim({ workerId: "w", limit: 2 }))
    expect(await queue.complete(job)).toBe(true);
}

async function queuesOf(world: World): Promise<Queue[]> {
  return [
    await world.lh.queue("fifo", { order: "key", retentionMs: 2 * dayMs }),
    await world.lh.queue("bag", { order: "none", retentionMs: 2 * dayMs }),
  ];
}

/** Days ahead too. */
async function prepareCopy(copy: World): Promise<void> {
  await queuesOf(copy);
  for (const queue of ["fifo", "bag"])
    await copy.sql("select leasehold.make_archive_days($1, 40, $2)", [queue, start]);
}

test.each([false, true])(
  "a publication for all tables changes nothing for a queue, and a subscriber gets every change (via the root: %s)",
  async (viaRoot) => {
    const { publisher, subscriber } = await logicalServer();
    await onClient(publisher, (client) =>
      client.query(
        `create publication everything for all tables with (publish_via_partition_root = ${viaRoot})`,
      ),
    );
    const clock = settableClock(start);
    const world = await setup({ clock, schema: "leasehold" }, publisher);
    const queues = await queuesOf(world);
    const copy = await subscribe(world, subscriber, prepareCopy);
    for (const queue of queues) await live(queue, clock);
    // New days are due, and the first is over.
    clock.advance(5 * dayMs);
    for (const queue of queues) {
      await queue.enqueue("late", {}, { partitionKey: "k9" });
      for (const job of await queue.claim({ workerId: "w", limit: 10 }))
        expect(await queue.complete(job)).toBe(true);
    }
    const report = await world.lh.housekeep();
    expect(report.daysMade).toBeGreaterThan(0);
    expect(report.daysDropped).toBeGreaterThan(0);
    await caughtUp(world, copy);
    if (!viaRoot) await copy.sql("alter subscription everything refresh publication");
    await copy.sql(`select leasehold.drop_archive_days(name, $1) from leasehold.queues`, [
      clock.databaseNow(),
    ]);
    await caughtUp(world, copy);
    await world.sql("delete from leasehold.fifo_archive where kind = 'late'");
    await expect
      .poll(() => contents(subscriber, "leasehold"), { timeout: 50_000, interval: 200 })
      .toEqual(await contents(publisher, "leasehold"));
    await copy.sql("drop subscription everything");
  },
);

test("rows that waited for their day are moved into it under a publication for all tables", async () => {
  const { publisher } = await logicalServer();
  await onClient(publisher, (client) => client.query("create publication everything for all tables"));
  const clock = settableClock(start);
  const world = await setup({ clock, schema: "leasehold" }, publisher);
  const queues = await queuesOf(world);
  clock.advance(20 * dayMs);
  for (const queue of queues) await live(queue, clock);
  const strays = () =>
    world.sql(
      "select count(*)::int as n from (select from leasehold.fifo_archive_rest union all select from leasehold.bag_archive_rest) r",
    );
  expect(await strays()).toEqual([{ n: 8 }]);
  await world.lh.housekeep();
  expect(await strays()).toEqual([{ n: 0 }]);
});

test("every table has a replica identity", async () => {
  const world = await setup();
  await queuesOf(world);
  const without = await world.sql(
    `select c.relname from pg_class c
     where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and c.relreplident in ('d', 'n')
       and not (c.relreplident = 'd' and exists (select 1 from pg_index i where i.indrelid = c.oid and i.indisprimary))`,
    [world.schema],
  );
  expect(without).toEqual([]);
});
