import { expect, test } from "vitest";
import { openTransaction, untilBlockedBy } from "../support/claims.js";
import { settableClock, setup } from "../support/world.js";

/** Redrive and promotion drew places without the key's slot, so that in a strict queue place and commit order could differ. */
test("in a strict queue a redrive waits for a producer that has drawn its place and not committed", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", strict: true });
  await inbox.enqueue("k", "dead", { partitionKey: "a", maxAttempts: 1 });
  const [job] = await inbox.claim({ workerId: "w1" });
  await inbox.fail(job!, new Error("no"));
  const producer = await openTransaction(world);
  await inbox.enqueue("k", "new", { partitionKey: "a", tx: producer.tx });
  const redriven = inbox.retry();
  await untilBlockedBy(world, producer.pid);
  await producer.commit();
  expect(await redriven).toBe(1);
  expect((await inbox.claim({ workerId: "w1" })).map((row) => row.payload)).toEqual(["new", "dead"]);
});

test("in a strict queue a row that falls due is promoted when no producer of its key is under way", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", strict: true });
  await inbox.enqueue("k", "later", { partitionKey: "a", delayMs: 1_000 });
  clock.advance(2_000);
  const producer = await openTransaction(world);
  await inbox.enqueue("k", "new", { partitionKey: "a", tx: producer.tx });
  expect(await inbox.claim({ workerId: "w1" })).toEqual([]);
  await producer.commit();
  expect((await inbox.claim({ workerId: "w1" })).map((row) => row.payload)).toEqual(["new", "later"]);
});
