import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { binder } from "../../src/database/bind.js";
import { discardJobs, redriveJobs } from "../../src/database/statements.generated.js";
import { deadLetter, type Queue } from "../../src/index.js";
import { settableClock, setup, type World } from "../support/world.js";

const payloads = (jobs: readonly { readonly payload: unknown }[]): unknown[] =>
  jobs.map((job) => job.payload);

/** So many dead letters of one key, as many failed attempts would leave them, with their payloads in the order of their places. */
async function deadLetters(world: World, inbox: Queue, count: number): Promise<void> {
  const jobs = Array.from({ length: count }, (_, i) => ({
    kind: "step",
    payload: i,
    partitionKey: "order:9182",
  }));
  await inbox.enqueueMany(jobs);
  await world.sql(
    "update leasehold.inbox set status = 'dead_letter', finished_at = now(), attempts = 5, crashes = 2, last_error = 'no'",
  );
}

test("stats count what is in the queue, and tell since when the oldest due job has been due", async () => {
  const start = new Date("2026-11-15T12:00:00Z");
  const clock = settableClock(start);
  const world = await setup({ clock });
  const inbox = await world.queue();
  for (const key of ["dead", "failed", "expired", "running", "done"])
    await inbox.enqueue(key, 1, { partitionKey: key });
  const claimed = async (key: string, leaseMs: number) => {
    const bucket = (await inbox.list({ kind: key }))[0]!.bucket;
    const [job] = await inbox.claim({ workerId: "w1", buckets: [bucket], leaseMs, limit: 1 });
    return job!;
  };
  await inbox.fail(await claimed("dead", 90_000), deadLetter("no"));
  await inbox.fail(await claimed("failed", 90_000), new Error("no"));
  await inbox.complete(await claimed("done", 90_000));
  await claimed("expired", 1_000);
  clock.advance(1_000);
  await claimed("running", 90_000);
  await inbox.enqueue("due", 1);
  await inbox.enqueue("due", 2);
  await inbox.enqueue("later", 1, { delayMs: 60_000 });
  expect(await inbox.stats()).toEqual({
    recent: expect.objectContaining({ workers: 0 }),
    scheduled: 1,
    pending: 3,
    processing: 2,
    prefetched: 0,
    deadLetter: 1,
    due: 2,
    retrying: 1,
    expired: 1,
    oldestDueAt: new Date(start.getTime() + 1_000),
    share: 1,
    source: "primary",
    asOf: null,
  });
  expect(await inbox.stats({ exact: false }), "a small table is read whole").toEqual(await inbox.stats());
});

test("an empty queue has stats of zeros and nothing to list", async () => {
  const world = await setup();
  const inbox = await world.queue();
  expect(await inbox.stats()).toMatchObject({ pending: 0, due: 0, oldestDueAt: null });
  expect(await inbox.list()).toEqual([]);
  expect(await inbox.get("00000000-0000-7000-8000-000000000000")).toBeNull();
});

test("list gives newest first, page by page, each job once", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(Array.from({ length: 25 }, (_, i) => ({ kind: "step", payload: i })));
  const seen: unknown[] = [];
  for (let page = await inbox.list({ limit: 10 }); page.length > 0; ) {
    expect(page.length).toBeLessThanOrEqual(10);
    seen.push(...payloads(page));
    page = await inbox.list({ limit: 10, before: page.at(-1)!.id });
  }
  expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => 24 - i));
});

test("list filters by kind, key and status, and reads finished jobs from the archive", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("a", 1, { partitionKey: "k1" });
  await inbox.enqueue("b", 2, { partitionKey: "k1" });
  await inbox.enqueue("a", 3, { partitionKey: "k2" });
  await inbox.enqueue("c", 4, { delayMs: 60_000 });
  expect(payloads(await inbox.list({ kind: "a" }))).toEqual([3, 1]);
  expect(payloads(await inbox.list({ partitionKey: "k1" }))).toEqual([2, 1]);
  expect(payloads(await inbox.list({ kind: "a", partitionKey: "k1" }))).toEqual([1]);
  expect(payloads(await inbox.list({ status: "scheduled" }))).toEqual([4]);
  const [first] = await inbox.claim({
    workerId: "w1",
    limit: 1,
    buckets: [(await inbox.list({ kind: "b" }))[0]!.bucket],
  });
  await inbox.complete(first!);
  await inbox.discard({ kind: "b" });
  expect(payloads(await inbox.list({ status: "completed" }))).toEqual([1]);
  expect(payloads(await inbox.list({ status: "discarded", kind: "b" }))).toEqual([2]);
  expect(await inbox.list({ status: "discarded", kind: "a" })).toEqual([]);
  expect(payloads(await inbox.list())).toEqual([4, 3]);
});

test("finished jobs are listed page by page as well", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(Array.from({ length: 7 }, (_, i) => ({ kind: "step", payload: i })));
  await inbox.discard({ kind: "step" });
  const first = await inbox.list({ status: "discarded", limit: 4 });
  const second = await inbox.list({ status: "discarded", limit: 4, before: first.at(-1)!.id });
  expect(payloads([...first, ...second])).toEqual([6, 5, 4, 3, 2, 1, 0]);
});

test("get finds a job by an id in capitals, in the queue and in the archive", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("step", { a: 1 }, { headers: { trace: "1" }, maxAttempts: 2 });
  const record = await inbox.get(id.toUpperCase());
  expect(record).toMatchObject({ id, queue: "inbox", headers: { trace: "1" }, priority: 0, maxAttempts: 2 });
  const [job] = await inbox.claim({ workerId: "w1" });
  await inbox.complete(job!);
  const finished = await inbox.get(id);
  expect(finished).toMatchObject({
    status: "completed",
    payload: { a: 1 },
    seq: record!.seq,
    leaseExpiresAt: null,
  });
  expect(finished?.finishedAt).toBeInstanceOf(Date);
});

test("retry gives dead letters a new place at the end, in their old order, with attempts from 0", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await deadLetters(world, inbox, 3);
  await inbox.enqueue("step", "later", { partitionKey: "order:9182" });
  expect(await inbox.retry()).toBe(3);
  const jobs = await inbox.claim({ workerId: "w1" });
  expect(payloads(jobs)).toEqual(["later", 0, 1, 2]);
  expect(jobs.map((job) => [job.attempt, job.crashes])).toEqual([
    [1, 0],
    [1, 0],
    [1, 0],
    [1, 0],
  ]);
  expect(await inbox.retry()).toBe(0);
});

test("retry takes the dead letters that are meant: by id, kind or key, and no more than the limit", async () => {
  const world = await setup();
  const inbox = await world.queue();
  for (const [kind, partitionKey] of [
    ["a", "k1"],
    ["b", "k1"],
    ["a", "k2"],
    ["c", "k3"],
    ["c", "k4"],
  ] as const) {
    await inbox.enqueue(kind, `${kind}-${partitionKey}`, { partitionKey });
  }
  await world.sql("update leasehold.inbox set status = 'dead_letter', finished_at = now(), attempts = 5");
  const id = (await inbox.list({ kind: "b" }))[0]!.id;
  expect(await inbox.retry({ ids: [id] })).toBe(1);
  expect(await inbox.retry({ kind: "a", partitionKey: "k2" })).toBe(1);
  expect(await inbox.retry({ kind: "c", limit: 1 })).toBe(1);
  const pending = await inbox.list({ status: "pending" });
  expect(payloads(pending).sort()).toEqual(["a-k2", "b-k1", "c-k3"]);
  expect(await inbox.retry({ partitionKey: "k1" })).toBe(1);
});

test("retry works through 2 500 dead letters in batches, tells its progress and keeps their order", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await deadLetters(world, inbox, 2_500);
  const progress: number[] = [];
  expect(await inbox.retry({ kind: "step" }, (done) => progress.push(done))).toBe(2_500);
  expect(progress).toEqual([1_000, 2_000, 2_500]);
  const rows = await world.sql<{ payload: number }>("select payload from leasehold.inbox order by seq");
  expect(payloads(rows)).toEqual(Array.from({ length: 2_500 }, (_, i) => i));
});

test("retry makes what waits due now, and leaves what runs or is due alone", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const { id: waiting } = await inbox.enqueue("step", "waiting");
  const [failed] = await inbox.claim({ workerId: "w1" });
  await inbox.fail(failed!, new Error("no"));
  const { id: later } = await inbox.enqueue("step", "later", { delayMs: 3_600_000 });
  const { id: running } = await inbox.enqueue("step", "running");
  await inbox.claim({ workerId: "w1" });
  expect(await inbox.retry({ ids: [running] })).toBe(0);
  expect(await inbox.retry({ ids: [waiting, later, running] })).toBe(2);
  expect(await inbox.retry({ ids: [waiting] })).toBe(0);
  const jobs = await inbox.claim({ workerId: "w1" });
  expect(payloads(jobs).sort()).toEqual(["later", "waiting"]);
  expect(jobs.find((job) => job.id === waiting)?.attempt).toBe(2);
});

test("a parked dead letter that is retried runs from its place, before what waited behind it", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", onDeadLetter: "park" });
  await inbox.enqueueMany([1, 2, 3].map((n) => ({ kind: "step", payload: n, partitionKey: "order:9182" })));
  const [first] = await inbox.claim({ workerId: "w1", limit: 1 });
  await inbox.fail(first!, deadLetter("no"));
  expect(await inbox.claim({ workerId: "w1" })).toEqual([]);
  expect(await inbox.retry({ ids: [first!.id] })).toBe(1);
  expect(payloads(await inbox.claim({ workerId: "w1" }))).toEqual([1, 2, 3]);
});

test("discard needs a filter, takes waiting jobs out and keeps them readable with the reason", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("step", "kept");
  const { id } = await inbox.enqueue("spam", "due", { partitionKey: "k" });
  await inbox.enqueue("spam", "later", { delayMs: 60_000 });
  await expect(inbox.discard({ reason: "all of it", limit: 5 })).rejects.toMatchObject({
    code: "LH_INVALID_OPTION",
  });
  expect(await inbox.discard({ kind: "spam", reason: "sent by mistake" })).toBe(2);
  expect(await inbox.get(id)).toMatchObject({
    status: "discarded",
    lastError: "sent by mistake",
    attempts: 0,
  });
  expect(payloads(await inbox.list())).toEqual(["kept"]);
  expect(await inbox.discard({ kind: "spam" })).toBe(0);
});

test("discard leaves jobs in process alone and keeps the last error when no reason is given", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", onDeadLetter: "park" });
  await inbox.enqueueMany([1, 2].map((n) => ({ kind: "step", payload: n, partitionKey: "k" })));
  const [first] = await inbox.claim({ workerId: "w1", limit: 1 });
  expect(await inbox.discard({ ids: [first!.id] })).toBe(0);
  await inbox.fail(first!, deadLetter("no such customer"));
  expect(await inbox.discard({ status: "dead_letter" })).toBe(1);
  expect(await inbox.get(first!.id)).toMatchObject({
    status: "discarded",
    lastError: "DeadLetter: no such customer",
  });
  expect(payloads(await inbox.claim({ workerId: "w1" }))).toEqual([2]);
});

test("a job that is claimed between the pick and the change is neither discarded nor redriven", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("step", 1);
  const [job] = await inbox.claim({ workerId: "w1" });
  const bind = binder({ schema: world.schema, queue: "inbox" });
  const statuses = ["scheduled", "pending", "processing", "dead_letter"];
  const changes = [
    bind(discardJobs, { ids: [id], statuses, reason: null, receipt: randomUUID(), detail: "{}", now: null }),
    bind(redriveJobs, { ids: [id], statuses, receipt: randomUUID(), detail: "{}", now: null }),
  ];
  for (const { text, values } of changes)
    expect(await world.sql(text, [...values])).toEqual([{ changed: 0 }]);
  expect(await inbox.complete(job!)).toBe(true);
});

test("discard works through 2 500 jobs in batches, and only deletes them where nothing is kept", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", retentionMs: 0 });
  await inbox.enqueueMany(Array.from({ length: 2_500 }, (_, i) => ({ kind: "step", payload: i })));
  const progress: number[] = [];
  expect(await inbox.discard({ status: "pending", limit: 2_400 }, (done) => progress.push(done))).toBe(2_400);
  expect(progress).toEqual([1_000, 2_000, 2_400]);
  expect((await inbox.stats()).pending).toBe(100);
  expect(await inbox.list({ status: "discarded" })).toEqual([]);
});

test.each(["key", "none"] as const)(
  "a paused queue (order %s) takes jobs in, hands none out, lets running ones end",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order });
    await inbox.enqueueMany([1, 2, 3].map((n) => ({ kind: "step", payload: n })));
    const [completed, failed, released] = await inbox.claim({ workerId: "w1" });
    await inbox.pause();
    const [paused] = await world.sql("select paused_at from leasehold.queues");
    await inbox.pause();
    expect(await world.sql("select paused_at from leasehold.queues")).toEqual([paused]);
    await inbox.enqueue("step", 4);
    expect(await inbox.claim({ workerId: "w1" })).toEqual([]);
    expect(await inbox.renew(completed!)).toMatchObject({ state: "renewed" });
    expect(await inbox.complete(completed!)).toBe(true);
    expect(await inbox.fail(failed!, new Error("no"))).toBe(true);
    expect(await inbox.release(released!)).toBe(true);
    expect(await inbox.claim({ workerId: "w2" })).toEqual([]);
    await inbox.resume();
    expect(payloads(await inbox.claim({ workerId: "w1" })).sort()).toEqual([released!.payload, 4]);
  },
);
