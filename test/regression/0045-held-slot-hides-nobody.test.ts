import { expect, test } from "vitest";
import { openTransaction } from "../support/claims.js";
import { settableClock, setup } from "../support/world.js";

const count = 1_200;

/** A claim looked at the first 1 000 due rows; when all belonged to a key whose slot was held, it promoted nothing. */
test("in a strict queue, 1 200 due rows of a key that a producer holds do not keep others from their turn", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", strict: true, buckets: 1 });
  await inbox.enqueueMany(
    Array.from({ length: count }, (_, i) => ({
      kind: "held",
      payload: i,
      partitionKey: "order:1",
      delayMs: 1_000,
    })),
  );
  await inbox.enqueueMany(
    [1, 2].map((n) => ({ kind: "free", payload: n, partitionKey: "order:9182", delayMs: 2_000 })),
  );
  clock.advance(3_000);
  const producer = await openTransaction(world);
  await inbox.enqueue("late", "first", { partitionKey: "order:1", tx: producer.tx });
  const jobs = await inbox.claim({ workerId: "w" });
  expect(jobs.map((job) => [job.kind, job.payload])).toEqual([
    ["free", 1],
    ["free", 2],
  ]);
  await producer.commit();
  const [head] = await inbox.claim({ workerId: "w", limit: 1 });
  expect(head).toMatchObject({ kind: "late", payload: "first" });
  const rows = await world.sql<{ payload: number }>(
    "select payload from leasehold.inbox where kind = 'held' and status = 'pending' order by seq",
  );
  expect(rows.map((row) => row.payload)).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
});
