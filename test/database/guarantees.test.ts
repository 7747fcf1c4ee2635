import { describe, expect, test } from "vitest";
import { type ClaimedJob, deadLetter, type Enqueued, type Queue, retryAfter } from "../../src/index.js";
import {
  drain,
  openQueues,
  openTransaction,
  takenOver,
  untilBlockedBy,
  wholeRow,
} from "../support/claims.js";
import { seeded, settableClock, setup, type World } from "../support/world.js";

const key = { idempotencyKey: "receipt:9182" };

function expectOneWinner(answers: readonly Enqueued[]): void {
  expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
  expect(answers.filter((answer) => !answer.duplicate)).toHaveLength(1);
}

async function countRows(world: World): Promise<number> {
  const [row] = await world.sql<{ count: string }>("select count(*) from leasehold.inbox");
  return Number(row!.count);
}

describe("one idempotency key makes one job", () => {
  test("a second enqueue answers with the first job, before and after that job has completed", async () => {
    const [here, there] = await openQueues(await setup(), 2);
    const first = await here!.enqueue("receipt.send", 1, key);
    expect(await there!.enqueue("receipt.send", 2, key)).toEqual({ id: first.id, duplicate: true });
    const [job] = await here!.claim({ workerId: "w1" });
    expect(await here!.complete(job!)).toBe(true);
    expect(await there!.enqueue("receipt.send", 3, key)).toEqual({ id: first.id, duplicate: true });
    expect(await there!.claim({ workerId: "w1" })).toEqual([]);
  });

  test("after the window the key of a finished job makes a new one, that of an unfinished job does not", async () => {
    const clock = settableClock();
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order: "key", dedupeWindowMs: 60_000 });
    const finished = await inbox.enqueue("a", 1, { idempotencyKey: "finished" });
    const [job] = await inbox.claim({ workerId: "w1" });
    await inbox.complete(job!);
    const open = await inbox.enqueue("b", 1, { idempotencyKey: "open" });
    clock.advance(59_999);
    expect(await inbox.enqueue("a", 2, { idempotencyKey: "finished" })).toEqual({
      ...finished,
      duplicate: true,
    });
    clock.advance(1);
    const again = await inbox.enqueue("a", 3, { idempotencyKey: "finished" });
    expect(again.duplicate).toBe(false);
    expect(again.id).not.toBe(finished.id);
    expect(await inbox.enqueue("b", 2, { idempotencyKey: "open" })).toEqual({ ...open, duplicate: true });
    clock.advance(120_000);
    await world.lh.housekeep();
    expect(await inbox.enqueue("b", 3, { idempotencyKey: "open" })).toEqual({ ...open, duplicate: true });
    expect(await countRows(world)).toBe(2);
  });

  test("fifty concurrent calls on five connections get one id", async () => {
    const world = await setup();
    const queues = await openQueues(world, 5);
    const calls = Array.from({ length: 50 }, (_, n) => queues[n % 5]!.enqueue("receipt.send", n, key));
    expectOneWinner(await Promise.all(calls));
    expect(await countRows(world)).toBe(1);
  });

  test("fifty concurrent transactions, by the library and by plain SQL, get one id", async () => {
    const world = await setup();
    const inbox = await world.queue();
    const producers = await Promise.all(Array.from({ length: 50 }, () => openTransaction(world)));
    const plain = `select * from ${world.schema}.enqueue('{"kind": "receipt.send", "idempotency_key": "receipt:9182"}')`;
    const answers = producers.map(async ({ tx, commit }, n) => {
      const answer =
        n % 2 === 0
          ? await inbox.enqueue("receipt.send", n, { ...key, tx })
          : ((await tx.query(plain)).rows[0] as Enqueued);
      await commit();
      return answer;
    });
    expectOneWinner(await Promise.all(answers));
    expect(await countRows(world)).toBe(1);
  });

  test("when the transaction that holds the key rolls back, the one that waits for it wins", async () => {
    const world = await setup();
    const [here, there] = await openQueues(world, 2);
    const holder = await openTransaction(world);
    const lost = await here!.enqueue("receipt.send", 1, { ...key, tx: holder.tx });
    const waiting = there!.enqueue("receipt.send", 2, key);
    await untilBlockedBy(world, holder.pid);
    await holder.rollback();
    const won = await waiting;
    expect(won.duplicate).toBe(false);
    expect(won.id).not.toBe(lost.id);
    expect(await here!.enqueue("receipt.send", 3, key)).toEqual({ id: won.id, duplicate: true });
  });

  test("while an open transaction holds a key, other keys of the same process go on", async () => {
    const world = await setup();
    const inbox = await world.queue();
    const holder = await openTransaction(world);
    const winner = await inbox.enqueue("receipt.send", 0, { ...key, tx: holder.tx });
    let isBlocked = true;
    const blocked = inbox.enqueue("receipt.send", 1, key).finally(() => {
      isBlocked = false;
    });
    const others = Array.from({ length: 20 }, (_, n) =>
      inbox.enqueue("other", n, { idempotencyKey: `o${n}` }),
    );
    const answers = await Promise.all([...others, inbox.enqueue("no key", 1)]);
    expect(answers.every((answer) => !answer.duplicate)).toBe(true);
    await untilBlockedBy(world, holder.pid);
    await inbox.enqueue("other", 1, { idempotencyKey: "late" });
    expect(isBlocked).toBe(true);
    await holder.commit();
    expect(await blocked).toEqual({ id: winner.id, duplicate: true });
  });

  test("of equal keys inside one enqueueMany the first makes the job", async () => {
    const inbox = await (await setup()).queue();
    const before = await inbox.enqueue("old", 0, { idempotencyKey: "old" });
    const keys = ["b", "a", "b", "old", "a", undefined, undefined];
    const answers = await inbox.enqueueMany(
      keys.map((idempotencyKey, n) => ({
        kind: "k",
        payload: n,
        ...(idempotencyKey && { idempotencyKey }),
      })),
    );
    expect(answers.map((answer) => answer.duplicate)).toEqual([false, false, true, true, true, false, false]);
    expect([answers[2]!.id, answers[3]!.id, answers[4]!.id]).toEqual([
      answers[0]!.id,
      before.id,
      answers[1]!.id,
    ]);
    const claimed = await inbox.claim({ workerId: "w1" });
    expect(claimed.map((job) => job.payload).sort()).toEqual([0, 0, 1, 5, 6]);
  });
});

describe("concurrent claims never return the same row in the same generation", () => {
  test.each(["key", "none"] as const)(
    "16 connections take 20 000 rows once each with order %s",
    async (order) => {
      const world = await setup({ connectionsMax: 2 });
      const queues = await openQueues(world, 16, { order, retentionMs: 0 });
      await queues[0]!.enqueueMany(Array.from({ length: 20_000 }, (_, n) => ({ kind: "k", payload: n })));
      const random = seeded(9182);
      const generations: string[] = [];
      await drain(queues, {
        rows: 20_000,
        claim: () => ({ limit: 250, buckets: randomBuckets(random) }),
        work: (jobs) => {
          generations.push(...jobs.map((job) => `${job.id} ${job.fenceToken}`));
        },
      });
      expect(generations).toHaveLength(20_000);
      expect(new Set(generations).size).toBe(20_000);
      expect(new Set(generations.map((generation) => generation.split(" ")[0])).size).toBe(20_000);
      expect(await countRows(world)).toBe(0);
    },
  );

  test("the naive way, select and then update, gives one row to two connections", async () => {
    const world = await setup();
    const { id } = await (await world.queue()).enqueue("k", 1);
    const claimers = [await openTransaction(world), await openTransaction(world)];
    const table = `${world.schema}.inbox`;
    for (const { tx } of claimers) {
      expect((await tx.query(`select id from ${table} where status = 'pending'`)).rows).toEqual([{ id }]);
    }
    for (const { tx, commit } of claimers) {
      const update = `update ${table} set status = 'processing' where id = $1 returning id`;
      expect((await tx.query(update, [id])).rows).toEqual([{ id }]);
      await commit();
    }
  });
});

/** About a third of the buckets in a random order, so that claims overlap and still find different work. */
function randomBuckets(random: () => number): number[] {
  return Array.from({ length: 360 }, (_, bucket) => bucket).filter(() => random() < 0.35);
}

const ranOut = "the lease ran out before the attempt was settled";

describe("an expired lease returns to pending and can be claimed", () => {
  test.each([
    ["the next claim", (_: World, other: Queue) => other.claim({ workerId: "w2" })],
    ["housekeeping", (world: World) => world.lh.housekeep()],
  ])("%s gives the row back, counts the crash and keeps the reason", async (_, takeBack) => {
    const clock = settableClock();
    const world = await setup({ clock });
    const [here, there] = await openQueues(world, 2);
    const { id } = await here!.enqueue("k", 1, { partitionKey: "order:9182" });
    const [job] = await here!.claim({ workerId: "w1", leaseMs: 1_000 });
    clock.advance(999);
    await takeBack(world, there!);
    expect(await there!.get(id)).toMatchObject({ status: "processing", claimedBy: "w1" });
    clock.advance(1);
    await takeBack(world, there!);
    const record = await there!.get(id);
    expect(record).toMatchObject({
      status: "pending",
      claimedBy: null,
      leaseExpiresAt: null,
      lastError: ranOut,
    });
    expect(record).toMatchObject({ attempts: 1, crashes: 1 });
    const token = String(job!.fenceToken);
    expect(record!.errors).toMatchObject([{ attempt: 1, worker: "w1", token, message: ranOut }]);
    clock.advance(2_500);
    const [again] = await there!.claim({ workerId: "w2" });
    expect(again).toMatchObject({ id, attempt: 2, crashes: 1, lastError: ranOut });
    expect(again!.fenceToken).toBeGreaterThan(job!.fenceToken);
  });

  test("in a queue without order it waits for its backoff outside of the line", async () => {
    const clock = settableClock();
    const [here, there] = await openQueues(await setup({ clock }), 2, { order: "none" });
    const { id } = await here!.enqueue("k", 1);
    await here!.claim({ workerId: "w1", leaseMs: 1_000 });
    clock.advance(1_000);
    expect(await there!.claim({ workerId: "w2" })).toEqual([]);
    expect(await there!.get(id)).toMatchObject({
      status: "scheduled",
      attempts: 1,
      crashes: 1,
      lastError: ranOut,
    });
    clock.advance(2_500);
    expect(await there!.claim({ workerId: "w2" })).toMatchObject([{ id, attempt: 2, crashes: 1 }]);
  });

  test("rows behind the first of their key get their attempt back", async () => {
    const clock = settableClock();
    const world = await setup({ clock });
    const [here, there] = await openQueues(world, 2);
    const rows = await here!.enqueueMany(
      [1, 2, 3].map((n) => ({ kind: "k", payload: n, partitionKey: "a" })),
    );
    expect(await here!.claim({ workerId: "w1", leaseMs: 1_000 })).toHaveLength(3);
    clock.advance(1_000);
    expect(await there!.claim({ workerId: "w2" })).toEqual([]);
    expect(await there!.get(rows[0]!.id)).toMatchObject({ status: "pending", attempts: 1, crashes: 1 });
    for (const { id } of rows.slice(1)) {
      expect(await there!.get(id)).toMatchObject({
        status: "pending",
        attempts: 0,
        crashes: 0,
        lastError: null,
      });
    }
    clock.advance(2_500);
    const run = await there!.claim({ workerId: "w2" });
    expect(run.map((job) => [job.payload, job.attempt])).toEqual([
      [1, 2],
      [2, 1],
      [3, 1],
    ]);
  });
});

/** Whatever a worker can do with a job it holds; none of it may be accepted. */
async function expectRefused(inbox: Queue, job: ClaimedJob): Promise<void> {
  expect(await inbox.complete(job)).toBe(false);
  expect(await inbox.fail(job, new Error("too late"))).toBe(false);
  expect(await inbox.fail(job, deadLetter("too late"))).toBe(false);
  expect(await inbox.release(job)).toBe(false);
  expect(await inbox.renew(job)).toEqual({ id: job.id, state: "lost" });
}

describe("a stale owner touches nothing", () => {
  test.each([
    ["the old token with the old owner", "w2", {}],
    ["the old token with the new owner", "w2", { workerId: "w2" }],
    ["the old token of the same worker", "w1", {}],
  ])("%s is refused", async (_, second, change) => {
    const { world, here, there, stale, current } = await takenOver(second);
    const before = await wholeRow(world, stale.id);
    await expectRefused(here, { ...stale, ...change });
    expect(await wholeRow(world, stale.id)).toBe(before);
    expect(await there.complete(current)).toBe(true);
    const archived = await wholeRow(world, stale.id);
    await expectRefused(here, { ...stale, ...change });
    expect(await wholeRow(world, stale.id)).toBe(archived);
  });

  test("the new token in the hands of the old owner is refused", async () => {
    const { world, here, stale, current } = await takenOver("w2");
    const before = await wholeRow(world, stale.id);
    await expectRefused(here, { ...current, workerId: "w1" });
    expect(await wholeRow(world, stale.id)).toBe(before);
  });

  test("whoever settled a row can't settle it again, whatever became of it", async () => {
    const { world, here, there, stale, current } = await takenOver("w2");
    expect(await there.fail(current, retryAfter(0))).toBe(true);
    const pending = await wholeRow(world, stale.id);
    await expectRefused(there, current);
    await expectRefused(here, stale);
    expect(await wholeRow(world, stale.id)).toBe(pending);
    const [last] = await here.claim({ workerId: "w1" });
    expect(await here.fail(last!, deadLetter("no such order"))).toBe(true);
    const dead = await wholeRow(world, stale.id);
    for (const job of [stale, current, last!]) await expectRefused(there, job);
    expect(await wholeRow(world, stale.id)).toBe(dead);
  });

  test("the naive way, a delete by id, is accepted from a zombie", async () => {
    const { world, there, stale, current } = await takenOver("w2");
    expect(
      await world.sql("delete from leasehold.inbox where id = $1 returning id", [stale.id]),
    ).toHaveLength(1);
    expect(await there.complete(current)).toBe(false);
  });
});

describe("a row past its attempts is a dead letter", () => {
  const steps = (count: number, more = {}) =>
    Array.from({ length: count }, (_, n) => ({ kind: "k", payload: n + 1, partitionKey: "a", ...more }));
  const payloads = (jobs: readonly ClaimedJob[]) => jobs.map((job) => job.payload);

  test("by failing, and its key goes on", async () => {
    const [here, there] = await openQueues(await setup(), 2);
    const rows = await here!.enqueueMany(steps(2, { maxAttempts: 2 }));
    const [first] = await here!.claim({ workerId: "w1", limit: 1 });
    await here!.fail(first!, retryAfter(0));
    const [second] = await there!.claim({ workerId: "w2", limit: 1 });
    expect(second).toMatchObject({ payload: 1, attempt: 2 });
    await there!.fail(second!, new Error("smtp said no"));
    expect(await here!.get(rows[0]!.id)).toMatchObject({ status: "dead_letter", attempts: 2, crashes: 0 });
    expect(payloads(await here!.claim({ workerId: "w1" }))).toEqual([2]);
  });

  test.each(["key", "none"] as const)("by lease expiry with order %s, and its key goes on", async (order) => {
    const clock = settableClock();
    const [here, there] = await openQueues(await setup({ clock }), 2, { order, maxCrashes: 2 });
    const { id } = await here!.enqueue("k", 1, { partitionKey: "a" });
    expect(await here!.claim({ workerId: "w1", leaseMs: 1_000 })).toMatchObject([{ id, attempt: 1 }]);
    clock.advance(1_000);
    expect(await there!.claim({ workerId: "w2" })).toEqual([]);
    clock.advance(2_500);
    expect(await here!.claim({ workerId: "w1", leaseMs: 1_000 })).toMatchObject([{ id, attempt: 2 }]);
    await here!.enqueue("k", 2, { partitionKey: "a" });
    clock.advance(1_000);
    expect(payloads(await there!.claim({ workerId: "w2" }))).toEqual([2]);
    expect(await there!.get(id)).toMatchObject({
      status: "dead_letter",
      attempts: 2,
      crashes: 2,
      lastError: ranOut,
    });
  });

  test.each(["retry", "discard"] as const)("parked, it holds its key until %s", async (verb) => {
    const clock = settableClock();
    const options = { order: "key", onDeadLetter: "park", maxCrashes: 1 } as const;
    const [here, there] = await openQueues(await setup({ clock }), 2, options);
    const rows = await here!.enqueueMany(steps(5, { maxAttempts: 1 }));
    const [failed] = await here!.claim({ workerId: "w1", limit: 1 });
    await here!.fail(failed!, new Error("smtp said no"));
    expect(await there!.claim({ workerId: "w2" })).toEqual([]);
    expect(await there!.why(rows[4]!.id)).toMatchObject({
      reason: "blocked",
      blockedBy: rows[0]!.id,
      ahead: 4,
    });
    expect(await there![verb]({ ids: [rows[0]!.id] })).toBe(1);

    const run = await there!.claim({ workerId: "w2", limit: 2, leaseMs: 1_000 });
    expect(payloads(run)).toEqual(verb === "retry" ? [1, 2] : [2, 3]);
    clock.advance(1_000);
    expect(await here!.claim({ workerId: "w1" })).toEqual([]);
    expect(await here!.get(run[0]!.id)).toMatchObject({
      status: "dead_letter",
      crashes: 1,
      finishedAt: null,
    });
    expect(await here![verb]({ status: "dead_letter" })).toBe(1);
    expect(payloads(await here!.claim({ workerId: "w1" }))).toEqual(
      verb === "retry" ? [1, 2, 3, 4, 5] : [3, 4, 5],
    );
  });

  test("several dead letters of a key are redriven to its end in their order, with fresh attempts", async () => {
    const [here, there] = await openQueues(await setup(), 2);
    await here!.enqueueMany(steps(6));
    for (const job of await here!.claim({ workerId: "w1", limit: 3 }))
      await here!.fail(job, deadLetter("broken"));
    const [fourth] = await here!.claim({ workerId: "w1", limit: 1 });
    expect(await there!.retry({ partitionKey: "a" })).toBe(3);
    expect(await there!.claim({ workerId: "w2" })).toEqual([]);
    expect(await here!.complete(fourth!)).toBe(true);
    const run = await there!.claim({ workerId: "w2" });
    expect(payloads(run)).toEqual([5, 6, 1, 2, 3]);
    expect(run.map((job) => job.attempt)).toEqual([1, 1, 1, 1, 1]);
  });
});
