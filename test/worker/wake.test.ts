import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { deadLetter, type Queue, type Worker, type WorkingJob } from "../../src/index.js";
import { hearingSessions } from "../support/heard-notices.js";
import { type HeldClock, heldClock, withoutPolls } from "../support/held-clock.js";
import { setup, type World } from "../support/world.js";
import { untilStatus } from "./stored-jobs.js";
import { gate, heard, startWorker, until } from "./worker-world.js";

/** The bits that worker a has said for inbox; null when it does not wish to be woken. */
async function wish(world: World): Promise<string | null> {
  const [row] = await world.sql<{ bits: string | null }>(
    "select wake_wish ->> 'inbox' as bits from leasehold.workers where id = 'a'",
  );
  return row?.bits ?? null;
}

interface Idle {
  readonly world: World;
  readonly inbox: Queue;
  readonly worker: Worker;
  readonly clock: HeldClock;
  /** Payloads, in the order of their starts. */
  readonly started: unknown[];
}

/** A worker that sleeps until its idle poll, on a clock on which that never comes: what it starts, it was woken for. */
async function idle(): Promise<Idle> {
  const held = withoutPolls();
  const world = await setup({ workerId: "a", ...held });
  const inbox = await world.queue();
  const started: unknown[] = [];
  const worker = await startWorker(world.lh, {
    k: (job) => void started.push(job.payload),
    fails: () => {
      throw deadLetter("no");
    },
  });
  const scene = { world, inbox, worker, started, clock: held.clock };
  await asleep(scene);
  return scene;
}

/** The looks at 0, 25, 100 and 400 ms are over; only a wake comes next. */
async function asleep({ world, clock }: Pick<Idle, "world" | "clock">): Promise<void> {
  await until("the wish is said", async () => (await wish(world)) !== null);
  await until("it sleeps until its poll", () => clock.isAsleep());
}

async function untilStarted({ started }: Idle, payload: unknown): Promise<void> {
  await until(`${payload} has started without a poll`, () => started.includes(payload));
}

test("an idle worker wishes to be woken for all it owns, and an enqueue wakes it without a poll", async () => {
  const scene = await idle();
  expect(await wish(scene.world)).toBe("1".repeat(360));
  for (let n = 0; n < 3; n++) {
    await asleep(scene);
    await scene.inbox.enqueue("k", n, { partitionKey: `key-${n}` });
    await untilStarted(scene, n);
  }
});

test("each of many rows in one call is found at once, wherever it is", async () => {
  const scene = await idle();
  await scene.inbox.enqueueMany(
    Array.from({ length: 100 }, (_, n) => ({ kind: "k", payload: n, partitionKey: `key-${n}` })),
  );
  await until("all have started without a poll", () => scene.started.length === 100);
});

test("a row for later starts when it falls due, without a poll and not before", async () => {
  const scene = await idle();
  for (let n = 0; n < 3; n++) {
    await asleep(scene);
    const { id } = await scene.inbox.enqueue("k", n, { delayMs: 300 });
    await untilStarted(scene, n);
    await untilStatus(scene.world, id, "completed");
    expect(await claimedInTime(scene.world)).toBe(n + 1);
  }
});

/** How many finished rows were claimed when they were due and not before, by the clock that counts. */
async function claimedInTime(world: World): Promise<number> {
  const [row] = await world.sql<{ n: number }>(
    "select count(*)::int as n from leasehold.inbox_archive where claimed_at >= available_at",
  );
  return row?.n ?? 0;
}

test("a row in a user's transaction wakes when it commits, not before", async () => {
  const scene = await idle();
  await scene.world.lh.transaction(async (tx) => {
    await scene.inbox.enqueue("k", "in a transaction", { tx });
    // Another row makes it look, and what is not committed is not there.
    await scene.inbox.enqueue("k", "beside it");
    await untilStarted(scene, "beside it");
    await asleep(scene);
    expect(scene.started).toEqual(["beside it"]);
  });
  await untilStarted(scene, "in a transaction");
});

test("a plain SQL enqueue wakes, with a key and without", async () => {
  const scene = await idle();
  for (const job of [
    '{"kind": "k", "payload": "plain", "partition_key": "x"}',
    '{"kind": "k", "payload": "bare"}',
  ]) {
    await asleep(scene);
    await scene.world.sql("select * from leasehold.enqueue($1::jsonb)", [job]);
    await untilStarted(scene, JSON.parse(job).payload);
  }
});

test("an enqueue with an idempotency key wakes", async () => {
  const scene = await idle();
  await scene.inbox.enqueue("k", "once", { idempotencyKey: "once" });
  await untilStarted(scene, "once");
});

test("a resumed queue and a redriven dead letter wake", async () => {
  const scene = await idle();
  const { world, inbox, clock } = scene;
  await inbox.pause();
  await inbox.enqueue("k", "paused");
  clock.elapse(2_000); // It polls, and finds nothing to claim in a queue that is paused.
  await until("it has looked and sleeps again", () => clock.isAsleep());
  expect(scene.started).toEqual([]);
  await inbox.resume();
  await untilStarted(scene, "paused");

  const { id } = await inbox.enqueue("fails", 1);
  await untilStatus(world, id, "dead_letter");
  await asleep(scene);
  const started = heard(world.lh, "job:started");
  await inbox.retry({ status: "dead_letter" });
  await until("it has started again without a poll", () => started.some((event) => event.id === id));
});

test("a row that waits for its backoff is tried when it falls due, without a poll and not before", async () => {
  const held = withoutPolls();
  const world = await setup({ workerId: "a", ...held });
  const inbox = await world.queue();
  const early: boolean[] = [];
  const handle = async ({ id, attempt }: WorkingJob) => {
    const [row] = await world.sql<{ is_early: boolean }>(
      "select attempts > 1 and claimed_at < available_at as is_early from leasehold.inbox where id = $1",
      [id],
    );
    early.push(row!.is_early);
    if (attempt <= 3) throw new Error("no");
  };
  await startWorker(world.lh, { k: { handle, retryDelayMs: () => 600 } });
  await inbox.enqueue("k", 1, { maxAttempts: 4 });
  await until("it was tried again without a poll", () => early.length === 4);
  expect(early).toEqual([false, false, false, false]);
});

test("a busy worker takes its wish back, and says it again when it has run out of work", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await startWorker(world.lh, { k: () => sleep(2) }, { concurrency: 4 });
  await until("the wish is said", async () => (await wish(world)) !== null);
  let isOver = false;
  const feed = async () => {
    for (let batch = 0; !isOver; batch++) {
      const jobs = Array.from({ length: 400 }, (_, n) => ({
        kind: "k",
        payload: n,
        partitionKey: `${batch} ${n}`,
      }));
      await inbox.enqueueMany(jobs);
      await until("half is done", async () => (await inbox.stats()).pending < 600);
    }
  };
  const fed = feed();
  await until("the wish is taken back", async () => (await wish(world)) === null);
  isOver = true;
  await fed;
  await until("the wish is said again", async () => (await wish(world)) !== null);
});

test("a worker that is notified too often polls at once, not after the wait for a notification", async () => {
  // Time stands still, so that the wait that began before the notifications never ends by itself.
  const clock = heldClock({ isStill: true });
  const world = await setup({ workerId: "a", clock, ttlMs: 600_000 });
  const inbox = await world.queue();
  const started: unknown[] = [];
  await startWorker(world.lh, { k: (job) => void started.push(job.payload) });
  await asleep({ world, clock });
  await world.sql(
    "select pg_notify(leasehold.worker_channel('a'), 'inbox:' || bucket) from generate_series(0, 99) bucket",
  );
  await until("the wish is taken back", async () => (await wish(world)) === null);
  await inbox.enqueue("k", 1, { partitionKey: "key" });
  await until("the job has started", () => started.length === 1);
});

test("rows of buckets that nobody wished for notify nobody", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const [{ mine, other }] = (await world.sql<{ mine: number; other: number }>(
    "select leasehold.bucket_of('mine', 360) as mine, leasehold.bucket_of('other', 360) as other",
  )) as [{ mine: number; other: number }];
  const bits = Array.from({ length: 360 }, (_, bucket) => (bucket === mine ? "1" : "0")).join("");
  await world.sql("insert into leasehold.workers (id, queues, wake_wish) values ('fake', '{inbox}', $1)", [
    JSON.stringify({ inbox: bits }),
  ]);
  const [channel] = await world.sql<{ name: string }>("select leasehold.worker_channel('fake') as name");
  const listener = await world.client();
  const payloads: (string | undefined)[] = [];
  listener.on("notification", ({ payload }) => payloads.push(payload));
  await listener.query(`listen ${channel!.name}`);

  await inbox.enqueue("k", 1, { partitionKey: "other" });
  await inbox.enqueueMany([{ kind: "k", payload: 2, partitionKey: "other" }]);
  await inbox.enqueue("k", 3, { partitionKey: "mine", delayMs: 60_000 });
  await world.sql("select * from leasehold.enqueue($1::jsonb)", ['{"kind": "k", "partition_key": "other"}']);
  await inbox.enqueue("k", 4, { partitionKey: "mine" });
  await until("the one wished for is told", () => payloads.length > 0);
  // Notifications of one session come in the order of the commits, so what was told earlier would be here.
  await listener.query("select 1");
  expect({ payloads, isOther: mine !== other }).toEqual({ payloads: [`inbox:${mine}`], isOther: true });

  await world.sql("update leasehold.workers set status = 'draining'");
  await inbox.enqueue("k", 5, { partitionKey: "mine" });
  await world.sql("update leasehold.workers set status = 'alive', wake_wish = null");
  await inbox.enqueue("k", 6, { partitionKey: "mine" });
  await listener.query("select 1");
  expect(payloads).toHaveLength(1);
});

test("a wake that comes while all slots are taken is not forgotten", async () => {
  const { sessions, notices } = hearingSessions();
  const polls = withoutPolls();
  const world = await setup({ workerId: "a", sessions, ...polls });
  const inbox = await world.queue();
  const held = gate();
  const started: unknown[] = [];
  const handle = async (job: { payload: unknown }) => {
    started.push(job.payload);
    if (job.payload === "slow") await held.passed;
  };
  await startWorker(world.lh, { k: handle }, { concurrency: 1 });
  await asleep({ world, clock: polls.clock });
  await inbox.enqueue("k", "slow");
  await until("the slot is taken", () => started.length === 1);
  await asleep({ world, clock: polls.clock });
  const before = notices.length;
  await inbox.enqueue("k", "next");
  await until("it was told", () => notices.length > before);
  held.open();
  await until("the next has started without a poll", () => started.length === 2);
});
