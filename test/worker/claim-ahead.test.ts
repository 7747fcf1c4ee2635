import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { WorkingJob } from "../../src/index.js";
import { hearingSessions } from "../support/heard-notices.js";
import { withoutPolls } from "../support/held-clock.js";
import { setup } from "../support/world.js";
import { untilEmpty } from "./stored-jobs.js";
import { countOf, gate, heard, startWorker, until } from "./worker-world.js";

const rows = (count: number, keys: number) =>
  Array.from({ length: count }, (_, n) => ({ kind: "k", payload: n, partitionKey: `key-${n % keys}` }));

for (const order of ["key", "none"] as const) {
  test(`with handlers that do not come back a worker holds a batch at most (order ${order})`, async () => {
    const world = await setup({ workerId: "a" });
    const inbox = await world.queue("inbox", { order });
    await inbox.enqueueMany(rows(1_000, 1_000));
    const held = gate();
    const worker = await startWorker(world.lh, { k: () => held.passed }, { concurrency: 4 });
    await until("all slots are taken", () => worker.load.running === 4);
    // Twelve looks over more than a second, which is when the measured rate is forgotten.
    let most = 0;
    for (let look = 0; look < 12; look++) {
      most = Math.max(most, await countOf(world, "processing"));
      await sleep(250);
    }
    expect(worker.load.running).toBe(4);
    expect(most).toBeLessThanOrEqual(25);
    expect(worker.load.inHand).toBe(await countOf(world, "processing"));
  });
}

test("slow handlers hold back few rows besides those that run", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await inbox.enqueueMany(rows(200, 200));
  let done = 0;
  const handle = async () => {
    await sleep(400);
    done++;
  };
  await startWorker(world.lh, { k: handle }, { concurrency: 4 });
  await until("the first batch is done", () => done >= 28);
  let most = 0;
  for (let look = 0; look < 20; look++) {
    most = Math.max(most, await countOf(world, "processing"));
    await sleep(50);
  }
  // Four run, and in a quarter of a second about three more start.
  expect(most).toBeLessThanOrEqual(14);
});

test("a line of slow rows goes on when the row before is settled, without a poll", async () => {
  const { clock, ttlMs } = withoutPolls();
  const world = await setup({ workerId: "a", clock, ttlMs });
  const inbox = await world.queue();
  const claimed = heard(world.lh, "jobs:claimed");
  await startWorker(world.lh, { warm: () => sleep(400), k: () => sleep(300) });
  // From these it learns that rows are slow, and claims one of a key at a time.
  await inbox.enqueueMany(Array.from({ length: 24 }, () => ({ kind: "warm", payload: 0 })));
  await untilEmpty(world);
  await until("it sleeps until its poll", () => clock.isAsleep());
  // A pause, so that they are not found by a wake for their bucket but by a look at all buckets, as after a start.
  await inbox.pause();
  await inbox.enqueueMany(rows(5, 1));
  const before = claimed.length;
  await inbox.resume();
  await untilEmpty(world);
  expect(claimed.slice(before).map(({ count }) => count)).toEqual([1, 1, 1, 1, 1]);
});

test("a row that is enqueued behind a running one of its key starts when that is settled, without a poll", async () => {
  const { sessions, notices } = hearingSessions();
  const { clock, ttlMs } = withoutPolls();
  const world = await setup({ workerId: "a", clock, ttlMs, sessions });
  const inbox = await world.queue();
  const started: unknown[] = [];
  const first = gate();
  const handle = async (job: WorkingJob) => {
    started.push(job.payload);
    if (job.payload === 0) await first.passed;
  };
  // Before the start, so that no wake has named its bucket.
  await inbox.enqueueMany(rows(1, 1));
  await startWorker(world.lh, { k: handle });
  await until("the first runs", () => started.length === 1);
  await until("the looks that follow a find are over", () => clock.isAsleep());
  const before = notices.length;
  await inbox.enqueue("k", 1, { partitionKey: "key-0" });
  await until("it was told", () => notices.length > before);
  await until("it has looked in vain", () => clock.isAsleep());
  expect(started).toEqual([0]);
  first.open();
  await until("the second runs", () => started.length === 2);
});

test("fast handlers are never short of rows: the worker claims further ahead by itself", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await inbox.enqueueMany(rows(5_000, 1_000));
  const counts: number[] = [];
  world.lh.on("jobs:claimed", (event) => counts.push(event.count));
  await startWorker(world.lh, { k: () => {} }, { concurrency: 8 });
  await untilEmpty(world);
  expect(Math.max(...counts)).toBeGreaterThan(50);
  expect(counts.length).toBeLessThan(400);
});
