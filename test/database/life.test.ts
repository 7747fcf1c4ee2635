import { expect, test } from "vitest";
import { deadLetter, retryAfter } from "../../src/index.js";
import { settableClock, setup } from "../support/world.js";

test("a job is enqueued, claimed, completed and archived", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const { id, duplicate } = await inbox.enqueue(
    "receipt.send",
    { order: 9182 },
    { partitionKey: "order:9182" },
  );
  expect(duplicate).toBe(false);

  const [job] = await inbox.claim({ workerId: "w1" });
  expect(job).toMatchObject({
    id,
    kind: "receipt.send",
    payload: { order: 9182 },
    partitionKey: "order:9182",
    attempt: 1,
  });
  expect(await inbox.claim({ workerId: "w2" })).toEqual([]);
  expect(await inbox.complete(job!)).toBe(true);
  expect(await inbox.complete(job!)).toBe(false);

  expect(await inbox.get(id)).toMatchObject({ status: "completed", claimedBy: "w1", attempts: 1 });
  expect(await world.sql("select 1 from leasehold.inbox")).toEqual([]);
});

test("rows of one key come in order and not two at once by different claims", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2, 3].map((n) => ({ kind: "step", payload: n, partitionKey: "order:9182" })));
  const run = await inbox.claim({ workerId: "w1", limit: 2 });
  expect(run.map((job) => job.payload)).toEqual([1, 2]);
  expect(await inbox.claim({ workerId: "w2" })).toEqual([]);
  await inbox.complete(run[0]!);
  expect(await inbox.claim({ workerId: "w2" })).toEqual([]);
  await inbox.complete(run[1]!);
  expect((await inbox.claim({ workerId: "w2" })).map((job) => job.payload)).toEqual([3]);
});

test("a failed job is tried again later, blocks its key meanwhile, and keeps its errors", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("step", 1, { partitionKey: "k" });
  await inbox.enqueue("step", 2, { partitionKey: "k" });
  const [job] = await inbox.claim({ workerId: "w1", limit: 1 });
  expect(await inbox.fail(job!, new Error("smtp said no"))).toBe(true);
  expect(await inbox.claim({ workerId: "w1" })).toEqual([]);
  const record = await inbox.get(id);
  expect(record).toMatchObject({ status: "pending", attempts: 1, lastError: "Error: smtp said no" });
  expect(record?.errors).toMatchObject([{ attempt: 1, worker: "w1", message: "Error: smtp said no" }]);
  const waitMs = record!.availableAt.getTime() - clock.databaseNow()!.getTime();
  expect(waitMs).toBeGreaterThanOrEqual(2_000);
  expect(waitMs).toBeLessThanOrEqual(2_500);
});

test("retryAfter sets the wait, deadLetter gives up and lets the key go on", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2].map((n) => ({ kind: "step", payload: n, partitionKey: "k" })));
  const [first] = await inbox.claim({ workerId: "w1", limit: 1 });
  await inbox.fail(first!, retryAfter(0));
  const [again] = await inbox.claim({ workerId: "w1", limit: 1 });
  expect(again).toMatchObject({ payload: 1, attempt: 2 });
  await inbox.fail(again!, deadLetter("no such customer"));
  expect(await inbox.get(again!.id)).toMatchObject({
    status: "dead_letter",
    lastError: "DeadLetter: no such customer",
  });
  expect((await inbox.claim({ workerId: "w1" })).map((job) => job.payload)).toEqual([2]);
});

test("a released job keeps its attempt and its place", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2].map((n) => ({ kind: "step", payload: n, partitionKey: "k" })));
  const [job] = await inbox.claim({ workerId: "w1", limit: 1 });
  expect(await inbox.release(job!)).toBe(true);
  const [again] = await inbox.claim({ workerId: "w2", limit: 1 });
  expect(again).toMatchObject({ payload: 1, attempt: 1 });
  expect(again!.fenceToken).toBeGreaterThan(job!.fenceToken);
});

test("a queue with order none runs by priority and due time", async () => {
  const world = await setup();
  const inbox = await world.queue("mail", { order: "none", buckets: 1 });
  await inbox.enqueue("a", 1, { priority: 5 });
  await inbox.enqueue("b", 2);
  await inbox.enqueue("c", 3, { priority: -1 });
  expect((await inbox.claim({ workerId: "w1" })).map((job) => job.kind)).toEqual(["c", "b", "a"]);
});
