import { expect, test } from "vitest";
import { setup } from "../support/world.js";
import { gate, heard, startWorker, until } from "../worker/worker-world.js";

/** Handles of a dropped queue raised 42883, pause() succeeded, and a worker went on failing and logging. */

const unknown = { code: "LH_UNKNOWN_QUEUE" };

test.each(["key", "none"] as const)(
  "every call on a handle of a dropped queue says so (order %s)",
  async (order) => {
    const world = await setup();
    const mail = await world.queue("mail", { order });
    await mail.enqueue("k", 1);
    const [job] = await mail.claim({ workerId: "w" });
    await world.lh.dropQueue("mail", { force: true });
    const client = await world.client();
    const inTx = async () => {
      await client.query("begin");
      try {
        return await mail.enqueue("k", 1, { tx: client });
      } finally {
        await client.query("rollback");
      }
    };
    for (const [name, call] of [
      ["enqueue", () => mail.enqueue("k", 1)],
      ["enqueue once", () => mail.enqueue("k", 1, { idempotencyKey: "a" })],
      ["enqueueMany", () => mail.enqueueMany([{ kind: "k", payload: 1 }])],
      ["enqueue in a transaction", inTx],
      ["claim", () => mail.claim({ workerId: "w" })],
      ["complete", () => mail.complete(job!)],
      ["fail", () => mail.fail(job!, new Error("no"))],
      ["renew", () => mail.renew(job!)],
      ["job.transaction", () => job!.transaction(async () => {})],
      ["stats", () => mail.stats()],
      ["list", () => mail.list()],
      ["get", () => mail.get(job!.id)],
      ["why", () => mail.why(job!.id)],
      ["retry", () => mail.retry()],
      ["discard", () => mail.discard({ ids: [job!.id] })],
      ["pause", () => mail.pause()],
      ["resume", () => mail.resume()],
      ["change", () => mail.change({ maxAttempts: 3 })],
      ["ring", () => world.lh.ring("mail")],
    ] as const)
      await expect((async () => await call())(), name).rejects.toMatchObject(unknown);
  },
);

test("a worker whose queue is dropped stops, and says so once", async () => {
  const world = await setup({ workerId: "a" });
  const mail = await world.queue("mail");
  const held = gate();
  const started = heard(world.lh, "job:started");
  const worker = await startWorker(world.lh, { k: () => held.passed }, { queue: "mail", concurrency: 1 });
  await mail.enqueueMany([1, 2, 3].map((n) => ({ kind: "k", payload: n })));
  await until("a job runs", () => started.length > 0);
  const dropped = heard(world.lh, "queue:dropped");
  const stopped = heard(world.lh, "worker:stopped");
  const errors = [heard(world.lh, "settle:failed"), heard(world.lh, "worker:failing")];
  const failures = heard(world.lh, "activity:failed");
  await world.lh.dropQueue("mail", { force: true });
  held.open();
  await until("the worker has stopped", () => worker.state === "stopped");
  expect(dropped).toEqual([{ queue: "mail", workerId: "a" }]);
  expect(stopped).toHaveLength(1);
  expect(errors).toEqual([[], []]);
  expect(failures).toEqual([]);
  // Its name is free again, for a queue and a worker.
  await world.queue("mail");
  await startWorker(world.lh, { k: () => {} }, { queue: "mail" });
});
