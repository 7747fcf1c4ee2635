import { describe, expect, test } from "vitest";
import { type ClaimedJob, deadLetter, type Queue, type QueueOptions } from "../../src/index.js";
import { settableClock, setup, type World } from "../support/world.js";

const key = "order:9182";

async function open(options: QueueOptions = { order: "key" }) {
  const clock = settableClock(new Date("2026-11-15T12:00:00Z"));
  const world = await setup({ clock });
  return { clock, world, inbox: await world.queue("inbox", options) };
}

async function enqueueTwo(inbox: Queue): Promise<readonly [first: string, second: string]> {
  const answers = await inbox.enqueueMany(
    [1, 2].map((n) => ({ kind: `step${n}`, payload: n, partitionKey: key })),
  );
  return [answers[0]!.id, answers[1]!.id];
}

async function claimOne(inbox: Queue): Promise<ClaimedJob> {
  const [job] = await inbox.claim({ workerId: "w1", limit: 1, leaseMs: 30_000 });
  return job!;
}

async function register(world: World, id: string, status: string): Promise<void> {
  await world.sql(
    `insert into leasehold.workers (id, status, last_seen_at, queues) values ($1, $2, '2026-11-15T12:00:00Z', '{inbox}')`,
    [id, status],
  );
}

test("unknown: no job has the id", async () => {
  const { inbox } = await open();
  const why = await inbox.why("00000000-0000-7000-8000-000000000000");
  expect(why).toMatchObject({ reason: "unknown", job: null, blockedBy: null, ahead: 0 });
  expect(why.words).toContain("No job has the id 00000000-0000-7000-8000-000000000000 in inbox");
});

describe("a job in process", () => {
  test("running: where, since when and until when", async () => {
    const { inbox, clock } = await open();
    const { id } = await inbox.enqueue("step", 1, { partitionKey: key });
    const job = await claimOne(inbox);
    clock.advance(29_999);
    const why = await inbox.why(id);
    expect(why).toMatchObject({ reason: "running", blockedBy: null, job: { id, status: "processing" } });
    expect(why.words).toBe(
      `It is claimed by w1 since 2026-11-15T12:00:00.000Z, attempt 1, token ${job.fenceToken}, with a lease until 2026-11-15T12:00:30.000Z, and is the first of its key there: it is running or about to start.`,
    );
  });

  test("claimed: it waits in its worker behind an earlier row of its key until that is settled", async () => {
    const { inbox } = await open();
    const [first, second] = await enqueueTwo(inbox);
    await inbox.enqueue("other", 1, { partitionKey: "order:1" });
    const jobs = await inbox.claim({ workerId: "w1", leaseMs: 30_000 });
    expect(jobs).toHaveLength(3);
    expect(await inbox.stats()).toMatchObject({ processing: 3, prefetched: 1 });
    expect(await inbox.why(first)).toMatchObject({ reason: "running", blockedBy: null });
    const why = await inbox.why(second);
    expect(why).toMatchObject({ reason: "claimed", blockedBy: first, ahead: 1 });
    expect(why.words).toContain("with a lease until 2026-11-15T12:00:30.000Z, and has not started");
    expect(why.words).toContain(`behind step1 ${first} of its key`);
    await inbox.complete(jobs.find((job) => job.id === first)!);
    expect(await inbox.why(second)).toMatchObject({ reason: "running", blockedBy: null });
    expect(await inbox.stats()).toMatchObject({ processing: 2, prefetched: 0 });
  });

  test("running, with order none: nobody can tell which of a worker's rows have started", async () => {
    const { inbox } = await open({ order: "none" });
    const [, second] = await enqueueTwo(inbox);
    expect(await inbox.claim({ workerId: "w1" })).toHaveLength(2);
    const why = await inbox.why(second);
    expect(why).toMatchObject({ reason: "running", blockedBy: null });
    expect(why.words).toContain("it is running or about to start");
    expect(await inbox.stats()).toMatchObject({ processing: 2, prefetched: 0 });
  });

  test("lease_expired: the lease ran out and the next claim takes it over", async () => {
    const { inbox, clock } = await open();
    const { id } = await inbox.enqueue("step", 1);
    await claimOne(inbox);
    clock.advance(30_000);
    const why = await inbox.why(id);
    expect(why.reason).toBe("lease_expired");
    expect(why.words).toContain("the lease ran out at 2026-11-15T12:00:30.000Z");
  });

  test("worker_dead: its worker is marked dead, also while the lease lasts", async () => {
    const { inbox, world } = await open();
    const { id } = await inbox.enqueue("step", 1);
    await claimOne(inbox);
    await register(world, "w1", "dead");
    const why = await inbox.why(id);
    expect(why.reason).toBe("worker_dead");
    expect(why.words).toContain("that worker is marked dead");
  });
});

describe("a job that waits", () => {
  test("paused: since when, and how to go on", async () => {
    const { inbox } = await open();
    const { id } = await inbox.enqueue("step", 1);
    await inbox.pause();
    expect(await inbox.why(id)).toMatchObject({
      reason: "paused",
      words: "The queue has been paused since 2026-11-15T12:00:00.000Z. Resume it with resume().",
    });
  });

  test("scheduled: for when", async () => {
    const { inbox } = await open();
    const { id } = await inbox.enqueue("step", 1, { delayMs: 60_000 });
    expect(await inbox.why(id)).toMatchObject({
      reason: "scheduled",
      words: "It is scheduled for 2026-11-15T12:01:00.000Z.",
    });
  });

  test.each(["key", "none"] as const)(
    "backoff in a queue with order %s: which attempt failed and why",
    async (order) => {
      const { inbox } = await open({ order });
      const { id } = await inbox.enqueue("step", 1);
      await inbox.fail(await claimOne(inbox), new Error("smtp said no"));
      const why = await inbox.why(id);
      expect(why.reason).toBe("backoff");
      expect(why.words).toContain("failed (Error: smtp said no)");
      expect(why.words).toContain(why.job!.availableAt.toISOString());
    },
  );

  test("no_workers: first in line and due, but nobody is alive to take it", async () => {
    const { inbox, world, clock } = await open();
    const { id } = await inbox.enqueue("step", 1);
    expect((await inbox.why(id)).reason).toBe("no_workers");
    await register(world, "gone", "dead");
    await register(world, "leaving", "draining");
    await register(world, "silent", "alive");
    clock.advance(30_001);
    const why = await inbox.why(id);
    expect(why.reason).toBe("no_workers");
    expect(why.words).toContain("no worker is registered and alive");
  });

  test("ready: first in line, due, and a worker is alive", async () => {
    const { inbox, world } = await open();
    const { id } = await inbox.enqueue("step", 1);
    await register(world, "w1", "alive");
    const why = await inbox.why(id);
    expect(why.reason).toBe("ready");
    expect(why.words).toContain(`w1, the owner of bucket ${why.job!.bucket}, takes it next`);
  });

  test("ready in a queue with order none, whatever else has its key", async () => {
    const { inbox, world } = await open({ order: "none" });
    const [, second] = await enqueueTwo(inbox);
    await register(world, "w1", "alive");
    expect(await inbox.why(second)).toMatchObject({ reason: "ready", ahead: 0 });
  });
});

describe("blocked by another row of its key", () => {
  test("which is running", async () => {
    const { inbox } = await open();
    const [first, second] = await enqueueTwo(inbox);
    await claimOne(inbox);
    const why = await inbox.why(second);
    expect(why).toMatchObject({ reason: "blocked", blockedBy: first, ahead: 1 });
    expect(why.words).toBe(
      `It waits behind 1 row(s) of its key ${key}: step1 ${first} is in process on w1 until 2026-11-15T12:00:30.000Z.`,
    );
  });

  test("which is a parked dead letter", async () => {
    const { inbox } = await open({ order: "key", onDeadLetter: "park" });
    const [first, second] = await enqueueTwo(inbox);
    await inbox.fail(await claimOne(inbox), deadLetter("no such customer"));
    const why = await inbox.why(second);
    expect(why).toMatchObject({ reason: "blocked", blockedBy: first });
    expect(why.words).toContain(
      "is a parked dead letter (DeadLetter: no such customer). Retry or discard it.",
    );
  });

  test("which waits for its next attempt", async () => {
    const { inbox } = await open();
    const [first, second] = await enqueueTwo(inbox);
    await inbox.fail(await claimOne(inbox), new Error("smtp said no"));
    const why = await inbox.why(second);
    expect(why).toMatchObject({ reason: "blocked", blockedBy: first });
    expect(why.words).toContain("failed (Error: smtp said no) and is tried again at 2026-11-15T12:00:0");
  });

  test("which is due itself, and how many stand before it", async () => {
    const { inbox } = await open();
    const [first] = await enqueueTwo(inbox);
    const { id } = await inbox.enqueue("step3", 3, { partitionKey: key });
    const why = await inbox.why(id);
    expect(why).toMatchObject({ reason: "blocked", blockedBy: first, ahead: 2 });
    expect(why.words).toBe(
      `It waits behind 2 row(s) of its key ${key}: step1 ${first} is due and comes first.`,
    );
  });

  test("or by a row with a later place that is already running", async () => {
    const { inbox, world } = await open();
    const [first, second] = await enqueueTwo(inbox);
    await claimOne(inbox);
    await world.sql("update leasehold.inbox set seq = seq + 100 where id = $1", [first]);
    expect(await inbox.why(second)).toMatchObject({ reason: "blocked", blockedBy: first, ahead: 0 });
  });
});

describe("a job that has ended", () => {
  test("dead_letter: after how many attempts and why", async () => {
    const { inbox } = await open();
    const { id } = await inbox.enqueue("step", 1, { maxAttempts: 1 });
    await inbox.fail(await claimOne(inbox), new Error("smtp said no"));
    const why = await inbox.why(id);
    expect(why.reason).toBe("dead_letter");
    expect(why.words).toContain(
      "at 2026-11-15T12:00:00.000Z after 1 of 1 attempts: Error: smtp said no. Its key goes on",
    );
  });

  test("parked: it holds its key until somebody acts", async () => {
    const { inbox } = await open({ order: "key", onDeadLetter: "park" });
    const { id } = await inbox.enqueue("step", 1);
    await inbox.fail(await claimOne(inbox), deadLetter("no such customer"));
    const why = await inbox.why(id);
    expect(why.reason).toBe("parked");
    expect(why.words).toContain("after 1 of 12 attempts: DeadLetter: no such customer. It holds its key");
  });

  test("completed: when, by whom, in which attempt", async () => {
    const { inbox } = await open();
    const { id } = await inbox.enqueue("step", 1);
    await inbox.complete(await claimOne(inbox));
    expect(await inbox.why(id)).toMatchObject({
      reason: "completed",
      words: "It was completed at 2026-11-15T12:00:00.000Z by w1 in attempt 1.",
    });
  });

  test("discarded: when", async () => {
    const { inbox } = await open();
    const { id } = await inbox.enqueue("step", 1);
    await inbox.discard({ ids: [id] });
    expect(await inbox.why(id)).toMatchObject({
      reason: "discarded",
      words: "It was discarded at 2026-11-15T12:00:00.000Z.",
    });
  });
});
