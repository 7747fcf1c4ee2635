import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { deadLetter, retryAfter, type WorkingJob } from "../../src/index.js";
import { setup } from "../support/world.js";
import { stored, untilEmpty, untilStatus } from "./stored-jobs.js";
import { gate, startWorker, until } from "./worker-world.js";

const rowsOf = (keys: number, perKey: number) =>
  Array.from({ length: keys * perKey }, (_, n) => ({
    kind: "k",
    payload: Math.floor(n / keys),
    partitionKey: `key-${n % keys}`,
  }));

test("rows of one key run one after another, other keys side by side, never more than concurrency", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await inbox.enqueueMany(rowsOf(20, 10));
  const running = new Set<string>();
  const overlaps: string[] = [];
  const orders = new Map<string, unknown[]>();
  let most = 0;
  const handle = async (job: WorkingJob) => {
    const { partitionKey: key, payload } = job;
    if (running.has(key)) overlaps.push(key);
    running.add(key);
    most = Math.max(most, running.size);
    orders.set(key, [...(orders.get(key) ?? []), payload]);
    await sleep(5);
    running.delete(key);
  };
  await startWorker(world.lh, { k: handle }, { concurrency: 5 });
  await untilEmpty(world);
  expect(overlaps).toEqual([]);
  expect(most).toBe(5);
  expect(orders.size).toBe(20);
  for (const [key, order] of orders) expect(order, key).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("the next row of a key starts only when the settle of the one before has committed", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const ids = (await inbox.enqueueMany(rowsOf(1, 30))).map((answer) => answer.id);
  const before: string[] = [];
  const handle = async (job: WorkingJob) => {
    const place = ids.indexOf(job.id);
    for (const id of ids.slice(0, place)) before.push((await stored(world, id)).status);
  };
  await startWorker(world.lh, { k: handle });
  await untilEmpty(world);
  expect(before).toHaveLength((30 * 29) / 2);
  expect(new Set(before)).toEqual(new Set(["completed"]));
});

test("a failing row gives the rest of its run back, and they run in order after it", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const ids = (await inbox.enqueueMany(rowsOf(1, 6))).map((answer) => answer.id);
  const runs: string[] = [];
  const behind: object[] = [];
  const handle = async (job: WorkingJob) => {
    runs.push(`${job.payload}/${job.attempt}`);
    if (job.payload !== 2) return;
    if (job.attempt === 1) throw retryAfter(300);
    for (const id of ids.slice(3)) behind.push(await stored(world, id));
  };
  await startWorker(world.lh, { k: handle });
  await untilEmpty(world);
  expect(runs).toEqual(["0/1", "1/1", "2/1", "2/2", "3/1", "4/1", "5/1"]);
  // Claimed again together with it, so one attempt and not two.
  for (const row of behind) expect(row).toMatchObject({ attempts: expect.toSatisfy((n: number) => n <= 1) });
});

test("with onDeadLetter continue the key goes on behind a dead letter", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await inbox.enqueueMany(rowsOf(1, 4));
  const runs: string[] = [];
  await startWorker(world.lh, {
    k: (job) => {
      runs.push(`${job.payload}/${job.attempt}`);
      if (job.payload === 1) throw deadLetter("no");
    },
  });
  await until("all have run", () => runs.length >= 4);
  await until("one is left", async () => (await world.sql("select 1 from leasehold.inbox")).length === 1);
  expect(runs).toEqual(["0/1", "1/1", "2/1", "3/1"]);
  expect((await inbox.stats()).deadLetter).toBe(1);
});

test("with onDeadLetter park the key waits until somebody redrives the dead letter", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue("inbox", { order: "key", onDeadLetter: "park" });
  const ids = (await inbox.enqueueMany(rowsOf(1, 4))).map((answer) => answer.id);
  const other = { kind: "k", payload: "other", partitionKey: "elsewhere" };
  const runs: unknown[] = [];
  let isFixed = false;
  await startWorker(world.lh, {
    k: (job) => {
      runs.push(job.payload);
      if (job.payload === 1 && !isFixed) throw deadLetter("no");
    },
  });
  await untilStatus(world, ids[1]!, "dead_letter");
  const { id } = (await inbox.enqueueMany([other]))[0]!;
  await untilStatus(world, id, "completed");
  expect(runs).toEqual([0, 1, "other"]);
  expect(await stored(world, ids[2]!)).toMatchObject({ status: "pending", attempts: 0 });
  isFixed = true;
  await inbox.retry({ status: "dead_letter" });
  await untilEmpty(world);
  expect(runs).toEqual([0, 1, "other", 1, 2, 3]);
});

test('in a queue with order "none" rows of one key run side by side', async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue("inbox", { order: "none" });
  await inbox.enqueueMany(rowsOf(1, 8));
  const passed = gate();
  let running = 0;
  await startWorker(
    world.lh,
    {
      k: async () => {
        running++;
        await passed.passed;
      },
    },
    { concurrency: 4 },
  );
  await until("four run at once", () => running === 4);
  passed.open();
  await untilEmpty(world);
  expect(running).toBe(8);
});
