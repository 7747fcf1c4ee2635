import { expect, it, vi } from "vitest";
import { setup } from "../support/world.js";

it("a worker that another process asks to drain finishes what runs, hands back the rest and leaves", async () => {
  const world = await setup();
  const queue = await world.queue("inbox", { order: "none" });
  const remote = await world.connect({ workerId: "web-1", heartbeatMs: 50, ttlMs: 5_000 });
  let finish = (): void => {};
  const started = new Promise<void>((resolve) => {
    const running = new Promise<void>((end) => {
      finish = end;
    });
    const handler = async (): Promise<void> => {
      resolve();
      await running;
    };
    void remote.worker("inbox", { mail: handler }, { concurrency: 1, handlesSignals: false }).start();
  });
  const stopped = new Promise<void>((resolve) => void remote.on("worker:stopped", () => resolve()));
  const draining = new Promise<string>(
    (resolve) => void remote.on("worker:draining", ({ why }) => resolve(why)),
  );
  const released = new Promise<void>((resolve) => void remote.on("jobs:released", () => resolve()));
  await queue.enqueueMany([1, 2, 3].map((order) => ({ kind: "mail", payload: { order } })));
  await started;
  await world.lh.drain("web-1");
  await world.lh.drain("web-1"); // A second request is no error.
  expect(await draining).toBe("an operator asked for it");
  await released;
  finish();
  await stopped;
  const { processing, deadLetter } = await queue.stats();
  expect({ processing, deadLetter }).toEqual({ processing: 0, deadLetter: 0 });
  const left = await queue.list({});
  expect(left).toHaveLength(2); // They waited for the first, which ended after they had been handed back.
  for (const { attempts } of left) expect(attempts).toBe(0);
  expect(await world.lh.workers()).toMatchObject([{ id: "web-1", state: "left" }]);
  expect(await world.lh.history({ kind: "worker:drain_asked" })).toMatchObject([
    { workerId: "web-1" },
    { workerId: "web-1" },
  ]);
  await expect(world.lh.drain("web-1")).rejects.toThrow("No live worker has the id");
});

it("a process that starts under the id of a drained one was not asked to drain", async () => {
  const world = await setup();
  await world.queue();
  await world.sql(
    `insert into leasehold.workers (id, status, started_at, last_seen_at, ttl, queues, drain_asked_at)
     values ('web-1', 'alive', now(), now(), interval '1 minute', '{inbox}', now())`,
  );
  const remote = await world.connect({ workerId: "web-1", heartbeatMs: 50, ttlMs: 5_000 });
  const worker = remote.worker("inbox", { mail: () => {} }, { handlesSignals: false });
  await worker.start();
  const beaten = async (): Promise<boolean> =>
    (
      await world.sql(
        "select 1 from leasehold.workers where last_seen_at > started_at and drain_asked_at is null",
      )
    ).length === 1;
  await vi.waitFor(async () => expect(await beaten()).toBe(true), { timeout: 60_000 });
  expect(worker.state).toBe("working");
});
