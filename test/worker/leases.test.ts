import { expect, test } from "vitest";
import { HandlerTimeoutError, LeaseLostError, type WorkingJob } from "../../src/index.js";
import { setup, type World } from "../support/world.js";
import { stored, untilEmpty, untilStatus } from "./stored-jobs.js";
import { gate, heard, politely, startWorker, until } from "./worker-world.js";

/** Somebody else takes the row over: it gets another owner and a higher token. */
async function takeAway(world: World, id: string): Promise<void> {
  await world.sql(
    `update leasehold.inbox set claimed_by = 'thief', lease_generation = nextval('leasehold.lease_tokens'),
       lease_expires_at = clock_timestamp() + interval '1 minute' where id = $1`,
    [id],
  );
}

/** By the database's clock: the lease that it was claimed with is over, and half a second more. */
async function untilExpired(world: World, job: WorkingJob): Promise<void> {
  const text = "select clock_timestamp() > $1::timestamptz + interval '0.5 s' as is_over";
  await until(
    "the first lease is over",
    async () => (await world.sql<{ is_over: boolean }>(text, [job.leaseExpiresAt]))[0]?.is_over === true,
  );
}

for (const order of ["key", "none"] as const) {
  test(`a handler that takes longer than its lease keeps its row, and nobody else gets it (order ${order})`, async () => {
    const world = await setup({ workerId: "a" });
    const inbox = await world.queue("inbox", { order });
    const starts: string[] = [];
    const handle = async (job: WorkingJob) => {
      starts.push(`${job.workerId}/${job.attempt}`);
      await untilExpired(world, job);
    };
    const lost = heard(world.lh, "lease:lost");
    await startWorker(world.lh, { k: handle }, { leaseMs: 2_000 });
    const { id } = await inbox.enqueue("k", 1);
    await until("it runs", () => starts.length === 1);
    // Somebody who claims in every bucket all the time, and does not know the worker.
    const other = await (await world.connect({ workerId: "b" })).queue("inbox");
    while ((await stored(world, id)).status !== "completed") {
      expect(await other.claim({ workerId: "b" })).toEqual([]);
    }
    expect(await stored(world, id)).toMatchObject({ attempts: 1, claimed_by: "a" });
    expect({ starts, lost }).toEqual({ starts: ["a/1"], lost: [] });
  });
}

test("rows that wait in hand for longer than a lease are renewed too", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const jobs = Array.from({ length: 4 }, (_, n) => ({ kind: "k", payload: n, partitionKey: "one" }));
  const ids = (await inbox.enqueueMany(jobs)).map((answer) => answer.id);
  const held = gate();
  const attempts: number[] = [];
  let first: WorkingJob | null = null;
  const handle = async (job: WorkingJob) => {
    first ??= job;
    attempts.push(job.attempt);
    await held.passed;
  };
  const worker = await startWorker(world.lh, { k: handle }, { leaseMs: 2_000 });
  await until("all are in hand", () => worker.load.inHand === 4);
  const tokens = async () => await world.sql("select id, lease_generation from leasehold.inbox order by id");
  const before = await tokens();
  await untilExpired(world, first!);
  const [late] = await world.sql("select 1 from leasehold.inbox where lease_expires_at < clock_timestamp()");
  expect(late).toBeUndefined();
  expect(await tokens()).toEqual(before);
  held.open();
  await untilEmpty(world);
  expect(attempts).toEqual([1, 1, 1, 1]);
  expect(await stored(world, ids[3]!)).toMatchObject({ attempts: 1, status: "completed" });
});

test("a lease that was taken away aborts the signal, settles nothing and refuses job.transaction", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const seen: unknown[] = [];
  let job: WorkingJob | null = null;
  const handle = async (given: WorkingJob) => {
    job = given;
    await politely(given, 20_000).catch(() => seen.push(given.signal.reason));
    await given.transaction((tx) => tx.query("select 1")).catch((error: unknown) => seen.push(error));
    throw new Error("whatever");
  };
  const failed = heard(world.lh, "job:failed");
  const settled = heard(world.lh, "job:settled");
  const lost = heard(world.lh, "lease:lost");
  const worker = await startWorker(world.lh, { k: handle }, { leaseMs: 600 });
  const { id } = await inbox.enqueue("k", 1);
  await until("it runs", () => job !== null);
  await takeAway(world, id);
  await until("the worker has let go", () => seen.length === 2 && worker.load.inHand === 0);
  expect(seen).toEqual([expect.any(LeaseLostError), expect.any(LeaseLostError)]);
  expect(lost).toMatchObject([{ id, during: "renew" }]);
  expect(await stored(world, id)).toMatchObject({ status: "processing", claimed_by: "thief", attempts: 1 });
  expect({ failed, settled }).toEqual({ failed: [], settled: [] });
});

test("a row behind a running one that was lost meanwhile does not start", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const jobs = Array.from({ length: 2 }, (_, n) => ({ kind: "k", payload: n, partitionKey: "one" }));
  const ids = (await inbox.enqueueMany(jobs)).map((answer) => answer.id);
  const held = gate();
  const started: unknown[] = [];
  const handle = async (job: WorkingJob) => {
    started.push(job.payload);
    await held.passed;
  };
  const lost = heard(world.lh, "lease:lost");
  const worker = await startWorker(world.lh, { k: handle }, { leaseMs: 3_000 });
  await until("both are in hand", () => worker.load.inHand === 2);
  await takeAway(world, ids[1]!);
  await until("the loss is known", () => lost.length === 1);
  held.open();
  await untilStatus(world, ids[0]!, "completed");
  await until("nothing is in hand", () => worker.load.inHand === 0);
  expect(started).toEqual([0]);
  expect(await stored(world, ids[1]!)).toMatchObject({ claimed_by: "thief", status: "processing" });
});

test("a handler whose time is up gets its signal aborted, and the attempt counts", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const reasons: unknown[] = [];
  const handle = async (job: WorkingJob) => {
    try {
      await politely(job, 20_000);
    } catch (error) {
      reasons.push(job.signal.reason);
      throw error;
    }
  };
  const stuck = heard(world.lh, "job:stuck");
  const settled = heard(world.lh, "job:settled");
  await startWorker(world.lh, { k: handle, quick: { handle, timeoutMs: 100 } }, { handlerTimeoutMs: 300 });
  const slow = await inbox.enqueue("k", 1);
  const quick = await inbox.enqueue("quick", 1);
  await until("both are settled", () => settled.length === 2);
  expect(reasons).toEqual([expect.any(HandlerTimeoutError), expect.any(HandlerTimeoutError)]);
  for (const [{ id }, limitMs] of [
    [slow, 300],
    [quick, 100],
  ] as const) {
    const row = await stored(world, id);
    expect(row).toMatchObject({ status: "pending", attempts: 1, claimed_by: null });
    expect(row.last_error).toMatch(/^HandlerTimeoutError: .*took longer than/);
    expect(row.last_error).toContain(`${limitMs} ms`);
  }
  expect(stuck).toEqual([]);
});

test("a handler that ignores its signal loses its slot and its row after the grace", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const held = gate();
  const late: unknown[] = [];
  const attempts: number[] = [];
  const ignoring = async (job: WorkingJob) => {
    attempts.push(job.attempt);
    if (job.attempt > 1) return;
    await held.passed;
    await job.transaction((tx) => tx.query("select 1")).catch((error: unknown) => late.push(error));
  };
  const stuck = heard(world.lh, "job:stuck");
  const rules = { handle: ignoring, timeoutMs: 200, retryDelayMs: () => 0 };
  const worker = await startWorker(
    world.lh,
    { ignoring: rules, other: () => {} },
    { concurrency: 1, abortGraceMs: 300 },
  );
  const { id } = await inbox.enqueue("ignoring", 1);
  const other = await inbox.enqueue("other", 1);
  await until("it is stuck", () => stuck.length === 1);
  expect(stuck).toMatchObject([{ id, kind: "ignoring" }]);
  // The only slot is free again, though the handler has not come back.
  await untilStatus(world, other.id, "completed");
  expect(await untilStatus(world, id, "completed")).toMatchObject({ attempts: 2 });
  expect(attempts).toEqual([1, 2]);
  held.open();
  await until("the late transaction was refused", () => late.length === 1);
  expect(late).toEqual([expect.any(LeaseLostError)]);
  expect(worker.load).toMatchObject({ running: 0, inHand: 0 });
});

test("the rules of a kind also hold for a handler that is stuck", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const held = gate();
  const rules = { handle: () => held.passed, timeoutMs: 100, attemptsMax: 1 };
  const patient = { handle: () => held.passed, timeoutMs: 100, retryDelayMs: () => 60_000 };
  const settled = heard(world.lh, "job:settled");
  await startWorker(world.lh, { once: rules, patient }, { abortGraceMs: 100 });
  const once = await inbox.enqueue("once", 1);
  const later = await inbox.enqueue("patient", 1);
  await until("both are settled", () => settled.length >= 2);
  expect.soft(await stored(world, once.id)).toMatchObject({ status: "dead_letter", attempts: 1 });
  expect.soft((await stored(world, later.id)).due_in_ms).toBeGreaterThan(40_000);
});

test("what job.transaction committed stands when the handler throws afterwards", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await world.sql("create table leasehold.effects (id uuid)");
  const threw = heard(world.lh, "job:threw");
  const settled = heard(world.lh, "job:settled");
  await startWorker(world.lh, {
    k: async (job) => {
      await job.transaction((tx) => tx.query(`insert into ${world.schema}.effects values ($1)`, [job.id]));
      throw new Error("too late");
    },
  });
  const { id } = await inbox.enqueue("k", 1);
  await until("it threw", () => threw.length === 1);
  expect(threw).toMatchObject([{ id, kind: "k", error: "Error: too late" }]);
  expect(await stored(world, id)).toMatchObject({ status: "completed", attempts: 1 });
  expect(await world.sql("select id from leasehold.effects")).toEqual([{ id }]);
  expect(settled).toMatchObject([{ id, status: "completed" }]);
});

test("a handler that goes on after job.transaction until it is given up has completed, and its line goes on", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const held = gate();
  const lost = heard(world.lh, "lease:lost");
  const started = heard(world.lh, "job:started");
  const handle = async (job: WorkingJob) => {
    await job.transaction((tx) => tx.query("select 1"));
    if (job.payload === 0) await held.passed;
  };
  await startWorker(world.lh, { k: { handle, timeoutMs: 150 } }, { abortGraceMs: 150 });
  await inbox.enqueueMany([0, 1].map((payload) => ({ kind: "k", payload, partitionKey: "one" })));
  await untilEmpty(world);
  expect(started).toHaveLength(2);
  expect(lost).toEqual([]);
});
