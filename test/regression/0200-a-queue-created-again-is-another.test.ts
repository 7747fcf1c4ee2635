import { expect, test } from "vitest";
import { systemClock } from "../../src/adapters/system-clock.js";
import { heldClock } from "../support/held-clock.js";
import { setup } from "../support/world.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

/** A worker went on with the buckets and the ring of the queue that was dropped, and left buckets of the new one unclaimed. */

test.each([
  ["other settings", { order: "key", buckets: 64, ring: "consistent" }],
  ["the same settings", { order: "key", buckets: 4 }],
] as const)("a worker stops when its queue is dropped and created again with %s", async (_name, options) => {
  // Between its polls, which do not come by themselves, the worker sees neither the drop nor the new queue.
  const clock = heldClock();
  const world = await setup({ workerId: "a", heartbeatMs: 500, clock });
  const other = await world.connect({ workerId: "b", clock: systemClock });
  await other.queue("mail", { order: "key", buckets: 4 });
  const worker = await startWorker(world.lh, { k: () => {} }, { queue: "mail" });
  await until("it waits for its next poll", () => clock.isAsleep());
  const dropped = heard(world.lh, "queue:dropped");
  const stopped = heard(world.lh, "worker:stopped");
  await other.dropQueue("mail", { force: true });
  const mail = await other.queue("mail", options);
  await until("the worker has stopped", () => worker.state === "stopped");
  expect(dropped).toEqual([{ queue: "mail", workerId: "a" }]);
  expect(stopped).toHaveLength(1);
  const done = heard(other, "job:handled");
  await startWorker(other, { k: () => {} }, { queue: "mail" });
  const jobs = Array.from({ length: 64 }, (_, n) => ({ kind: "k", payload: n, partitionKey: `key-${n}` }));
  await mail.enqueueMany(jobs);
  await until("all its buckets are claimed from", () => done.length === 64);
});

test("a change of the queue, and a beat, leave the worker at work", async () => {
  const world = await setup({ workerId: "a", heartbeatMs: 50 });
  const mail = await world.queue("mail");
  const worker = await startWorker(world.lh, { k: () => {} }, { queue: "mail" });
  await mail.change({ maxAttempts: 3, retentionMs: 86_400_000 });
  await mail.pause();
  await mail.resume();
  const [before] = await world.lh.workers();
  await until("two beats", async () => {
    const [now] = await world.lh.workers();
    return now!.lastSeenAt.getTime() > before!.lastSeenAt.getTime() + 100;
  });
  expect(worker.state).toBe("working");
  const done = heard(world.lh, "job:handled");
  await mail.enqueue("k", 1);
  await until("its job is done", () => done.length === 1);
});
