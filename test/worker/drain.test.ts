import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { DrainedError, type WorkingJob } from "../../src/index.js";
import { type HeldClock, withoutPolls } from "../support/held-clock.js";
import { setup } from "../support/world.js";
import { stored, untilEmpty } from "./stored-jobs.js";
import { countOf, gate, heard, politely, startWorker, until } from "./worker-world.js";

const rows = (count: number, keys: number) =>
  Array.from({ length: count }, (_, n) => ({ kind: "k", payload: n, partitionKey: `key-${n % keys}` }));

/** Stands in for the signals of the process. */
function fakeSignals() {
  const listeners = new Set<(signal: string) => void>();
  const exits: number[] = [];
  return {
    exits,
    listeners,
    send: (signal: string) => {
      for (const listener of [...listeners]) listener(signal);
    },
    seam: {
      onStop: (listener: (signal: string) => void) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      exit: (code: number) => void exits.push(code),
    },
  };
}

for (const [order, keys] of [
  ["key", 3],
  ["key", 30],
  ["none", 30],
] as const) {
  test(`a stop lets running handlers finish and hands the rest back unused (order ${order}, ${keys} keys)`, async () => {
    const world = await setup({ workerId: "a" });
    const inbox = await world.queue("inbox", { order });
    const ids = (await inbox.enqueueMany(rows(30, keys))).map((answer) => answer.id);
    const held = gate();
    const started: string[] = [];
    const handle = async (job: WorkingJob) => {
      started.push(job.id);
      await held.passed;
      expect(job.signal.aborted).toBe(false);
    };
    const worker = await startWorker(world.lh, { k: handle }, { concurrency: 2 });
    await until("more than what runs is in hand", () => started.length === 2 && worker.load.inHand > 2);
    const stopped = worker.stop();
    await until("what was not started is back", async () => (await countOf(world, "processing")) === 2);
    expect(worker.state).toBe("draining");
    held.open();
    await stopped;
    expect(worker.state).toBe("stopped");
    expect(started).toHaveLength(2);
    for (const id of ids) {
      const expected = started.includes(id)
        ? { status: "completed", attempts: 1 }
        : { status: "pending", attempts: 0, claimed_by: null, last_error: null };
      expect(await stored(world, id)).toMatchObject(expected);
    }
    expect(await world.lh.workers()).toMatchObject([{ state: "left" }]);
    // Somebody else does the rest, each once and in order.
    const order2: unknown[] = [];
    const other = await world.connect({ workerId: "b" });
    await startWorker(other, { k: (job) => order2.push([job.partitionKey, job.payload, job.attempt]) });
    await untilEmpty(world);
    expect(order2).toHaveLength(28);
    expect(order2.every((entry) => (entry as unknown[])[2] === 1)).toBe(true);
  });
}

test("the ring loses a draining worker at once, while its handlers still run", async () => {
  // Nobody looks at the ring again by himself: who sees it change was told.
  const world = await setup({ workerId: "a", ...withoutPolls() });
  const inbox = await world.queue();
  const held = gate();
  const started = heard(world.lh, "job:started");
  const b = await startWorker(await world.connect({ workerId: "b", ...withoutPolls() }), { k: () => {} });
  const a = await startWorker(world.lh, { k: () => held.passed });
  await until("they share", () => b.load.owned < 360);
  await inbox.enqueueMany(rows(20, 20));
  await until("a runs something", () => started.length > 0);
  const stopped = a.stop();
  await until("b has all buckets", () => b.load.owned === 360);
  expect((await world.lh.workers()).map(({ id, state }) => `${id} ${state}`)).toEqual([
    "a draining",
    "b alive",
  ]);
  expect(a.state).toBe("draining");
  held.open();
  await stopped;
  await untilEmpty(world);
});

/** Neither is the length of any other wait of a worker. */
const drainLimitMs = 40_000;
const abortGraceMs = 20_000;

/** True while somebody waits for up to so long on a clock on which that does not end. */
function isHeld(clock: HeldClock, limitMs: number): boolean {
  return clock.held().some((ms) => ms > limitMs * 0.9 && ms <= limitMs);
}

test("beyond drainLimitMs the signal aborts with DrainedError and the row goes back without using an attempt", async () => {
  const { clock, ttlMs } = withoutPolls();
  const world = await setup({ workerId: "a", clock, ttlMs });
  const inbox = await world.queue();
  const reasons: unknown[] = [];
  const handle = async (job: WorkingJob) => {
    try {
      await politely(job, 600_000);
    } catch (error) {
      reasons.push(job.signal.reason);
      throw error;
    }
  };
  // The grace is for handlers that ignore their signal; this one does not, and nobody waits for ten minutes here.
  const worker = await startWorker(world.lh, { k: handle }, { drainLimitMs, abortGraceMs: 600_000 });
  const { id } = await inbox.enqueue("k", 1);
  await until("it runs", () => worker.load.running === 1);
  const failed = heard(world.lh, "job:failed");
  const stopped = worker.stop();
  await until("it waits for what runs", () => isHeld(clock, drainLimitMs));
  expect(reasons).toEqual([]);
  clock.elapse(drainLimitMs);
  await stopped;
  expect(reasons).toEqual([expect.any(DrainedError)]);
  expect(await stored(world, id)).toMatchObject({
    status: "pending",
    attempts: 0,
    last_error: null,
    claimed_by: null,
  });
  expect(failed).toEqual([]);
  expect(await world.lh.workers()).toMatchObject([{ state: "left" }]);
});

test("a handler that ignores the end of the drain loses its row after the grace, and can't complete it later", async () => {
  const { clock, ttlMs } = withoutPolls();
  const world = await setup({ workerId: "a", clock, ttlMs });
  const inbox = await world.queue();
  const held = gate();
  const late: unknown[] = [];
  const reasons: unknown[] = [];
  const handle = async (job: WorkingJob) => {
    job.signal.addEventListener("abort", () => reasons.push(job.signal.reason));
    await held.passed;
    await job
      .transaction((tx) => tx.query("select 1"))
      .catch((error: { code: string }) => late.push(error.code));
  };
  const worker = await startWorker(world.lh, { k: handle }, { drainLimitMs, abortGraceMs });
  const { id } = await inbox.enqueue("k", 1);
  await until("it runs", () => worker.load.running === 1);
  const stopped = worker.stop();
  await until("it waits for what runs", () => isHeld(clock, drainLimitMs));
  expect(reasons).toEqual([]);
  clock.elapse(drainLimitMs);
  await until("it waits for the grace", () => isHeld(clock, abortGraceMs));
  expect(reasons).toEqual([expect.any(DrainedError)]);
  expect(await stored(world, id)).toMatchObject({ status: "processing", claimed_by: "a" });
  clock.elapse(abortGraceMs);
  await stopped;
  expect(await stored(world, id)).toMatchObject({ status: "pending", attempts: 0, claimed_by: null });
  held.open();
  await until("its transaction was refused", () => late.length === 1);
  expect(late).toEqual(["LH_LEASE_LOST"]);
  expect(await stored(world, id)).toMatchObject({ status: "pending", attempts: 0 });
});

test("a handler whose time was up when the drain ends is not looked at all the time", async () => {
  let looks = 0;
  const clock = {
    monotonicMs: () => performance.now(),
    epochMs: () => Date.now(),
    databaseNow: () => null,
    sleep: (ms: number, wake?: AbortSignal) => {
      looks++;
      return sleep(ms, undefined, wake === undefined ? {} : { signal: wake }).catch(() => {});
    },
  };
  const world = await setup({ workerId: "a", clock });
  const inbox = await world.queue();
  const held = gate();
  const worker = await startWorker(
    world.lh,
    { k: { handle: () => held.passed, timeoutMs: 700 } },
    { drainLimitMs: 200, abortGraceMs: 1_500 },
  );
  await inbox.enqueue("k", 1);
  await until("it runs", () => worker.load.running === 1);
  const before = looks;
  await worker.stop();
  expect(looks - before).toBeLessThan(100);
});

test("the first signal drains all workers of the connection and ends the process with 0", async () => {
  const signals = fakeSignals();
  const world = await setup({ workerId: "a", signals: signals.seam });
  const inbox = await world.queue("inbox");
  const outbox = await world.queue("outbox");
  const held = gate();
  const options = { handlesSignals: true };
  const one = await startWorker(world.lh, { k: () => held.passed }, { ...options, queue: "inbox" });
  const two = await startWorker(world.lh, { k: () => held.passed }, { ...options, queue: "outbox" });
  expect(signals.listeners.size).toBe(1);
  await inbox.enqueue("k", 1);
  await outbox.enqueue("k", 1);
  await until("both are at work", () => one.load.running + two.load.running === 2);
  const draining = heard(world.lh, "worker:draining");
  signals.send("SIGTERM");
  await until("both drain", () => draining.length === 2);
  expect(draining.map((event) => event.why)).toEqual(["SIGTERM", "SIGTERM"]);
  expect(signals.exits).toEqual([]);
  held.open();
  await until("the process ends", () => signals.exits.length > 0);
  expect(signals.exits).toEqual([0]);
  expect([one.state, two.state]).toEqual(["stopped", "stopped"]);
  const rest = await world.sql("select 1 from leasehold.inbox union all select 1 from leasehold.outbox");
  expect(rest).toEqual([]);
  expect(await world.sql("select left_at is not null as has_left from leasehold.workers")).toEqual([
    { has_left: true },
  ]);
});

test("the second signal ends the process with 1 at once", async () => {
  const signals = fakeSignals();
  const world = await setup({ workerId: "a", signals: signals.seam });
  const inbox = await world.queue();
  const held = gate();
  const worker = await startWorker(world.lh, { k: () => held.passed }, { handlesSignals: true });
  await inbox.enqueue("k", 1);
  await until("it is at work", () => worker.load.running === 1);
  signals.send("SIGINT");
  await until("it drains", () => worker.state === "draining");
  expect(signals.exits).toEqual([]);
  signals.send("SIGINT");
  expect(signals.exits).toEqual([1]);
});

test("signals are heeded only while a worker that wants them runs", async () => {
  const signals = fakeSignals();
  const world = await setup({ workerId: "a", signals: signals.seam });
  await world.queue();
  const without = await startWorker(world.lh, { k: () => {} });
  expect(signals.listeners.size).toBe(0);
  await without.stop();
  const heeding = await startWorker(world.lh, { k: () => {} }, { handlesSignals: true });
  expect(signals.listeners.size).toBe(1);
  await heeding.stop();
  expect(signals.listeners.size).toBe(0);
});

test("closing the connection drains its workers", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const held = gate();
  const worker = await startWorker(world.lh, { k: () => held.passed });
  const { id } = await inbox.enqueue("k", 1);
  await until("it runs", () => worker.load.running === 1);
  const draining = heard(world.lh, "worker:draining");
  const closed = world.lh.close();
  await until("it drains", () => draining.length === 1);
  held.open();
  await closed;
  expect(worker.state).toBe("stopped");
  expect(await stored(world, id)).toMatchObject({ status: "completed" });
});

test("what a claim under way brings after stop() was called is handed back and not started", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("k", 1);
  let starts = 0;
  const worker = world.lh.worker(inbox, { k: () => void starts++ });
  let stopped: Promise<void> | null = null;
  world.lh.on("claim:finished", (claim) => {
    if (claim.rows > 0) stopped ??= worker.stop();
  });
  await worker.start();
  await until("it was told to stop", () => stopped !== null);
  await stopped;
  expect(starts).toBe(0);
  expect(await stored(world, id)).toMatchObject({ status: "pending", attempts: 0 });
});
