import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { deadLetter, type Queue, type Worker } from "../../src/index.js";
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
  /** Of each payload, when its handler started. */
  readonly startedAtMs: Map<unknown, number>;
}

/** A worker that has looked often enough to sleep for its idle poll of two seconds. */
async function idle(): Promise<Idle> {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const startedAtMs = new Map<unknown, number>();
  const worker = await startWorker(world.lh, {
    k: (job) => startedAtMs.set(job.payload, performance.now()),
    fails: () => {
      throw deadLetter("no");
    },
  });
  await asleep(world);
  return { world, inbox, worker, startedAtMs };
}

/** The looks at 0, 25, 100 and 400 ms are over; only a wake or the poll comes next. */
async function asleep(world: World): Promise<void> {
  await until("the wish is said", async () => (await wish(world)) !== null);
  await sleep(700);
}

async function startOf({ startedAtMs }: Idle, payload: unknown): Promise<number> {
  await until(`${payload} has started`, () => startedAtMs.has(payload), 5_000);
  return startedAtMs.get(payload)!;
}

/** Each of several tries is woken, so that a poll that happened to come does not pass for a wake. */
const tries = 3;

test("an idle worker wishes to be woken for all it owns, and an enqueue wakes it long before its poll", async () => {
  const scene = await idle();
  expect(await wish(scene.world)).toBe("1".repeat(360));
  for (let n = 0; n < tries; n++) {
    await asleep(scene.world);
    const sentAtMs = performance.now();
    await scene.inbox.enqueue("k", n, { partitionKey: `key-${n}` });
    expect((await startOf(scene, n)) - sentAtMs).toBeLessThan(300);
  }
});

test("each of many rows in one call is found at once, wherever it is", async () => {
  const scene = await idle();
  const sentAtMs = performance.now();
  await scene.inbox.enqueueMany(
    Array.from({ length: 100 }, (_, n) => ({ kind: "k", payload: n, partitionKey: `key-${n}` })),
  );
  await until("all have started", () => scene.startedAtMs.size === 100, 5_000);
  expect(Math.max(...scene.startedAtMs.values()) - sentAtMs).toBeLessThan(800);
});

test("a row for later starts close to its time", async () => {
  const scene = await idle();
  for (let n = 0; n < tries; n++) {
    await asleep(scene.world);
    const sentAtMs = performance.now();
    await scene.inbox.enqueue("k", n, { delayMs: 300 });
    const tookMs = (await startOf(scene, n)) - sentAtMs;
    expect(tookMs).toBeGreaterThanOrEqual(290);
    expect(tookMs).toBeLessThan(650);
  }
});

test("a row in a user's transaction wakes when it commits, not before", async () => {
  const scene = await idle();
  let committedAtMs = 0;
  await scene.world.lh.transaction(async (tx) => {
    await scene.inbox.enqueue("k", "in a transaction", { tx });
    await sleep(300);
    expect(scene.startedAtMs.size).toBe(0);
    committedAtMs = performance.now();
  });
  expect((await startOf(scene, "in a transaction")) - committedAtMs).toBeLessThan(300);
});

test("a plain SQL enqueue wakes, with a key and without", async () => {
  const scene = await idle();
  for (const job of [
    '{"kind": "k", "payload": "plain", "partition_key": "x"}',
    '{"kind": "k", "payload": "bare"}',
  ]) {
    await asleep(scene.world);
    const sentAtMs = performance.now();
    await scene.world.sql("select * from leasehold.enqueue($1::jsonb)", [job]);
    expect((await startOf(scene, JSON.parse(job).payload)) - sentAtMs).toBeLessThan(300);
  }
});

test("an enqueue with an idempotency key wakes", async () => {
  const scene = await idle();
  const sentAtMs = performance.now();
  await scene.inbox.enqueue("k", "once", { idempotencyKey: "once" });
  expect((await startOf(scene, "once")) - sentAtMs).toBeLessThan(300);
});

test("a resumed queue and a redriven dead letter wake", async () => {
  const scene = await idle();
  const { world, inbox } = scene;
  await inbox.pause();
  await inbox.enqueue("k", "paused");
  await sleep(700);
  expect(scene.startedAtMs.size).toBe(0);
  const resumedAtMs = performance.now();
  await inbox.resume();
  expect((await startOf(scene, "paused")) - resumedAtMs).toBeLessThan(300);

  const { id } = await inbox.enqueue("fails", 1);
  await untilStatus(world, id, "dead_letter");
  await asleep(world);
  const started = heard(world.lh, "job:started");
  const redrivenAtMs = performance.now();
  await inbox.retry({ status: "dead_letter" });
  await until("it has started again", () => started.some((event) => event.id === id), 5_000);
  expect(performance.now() - redrivenAtMs).toBeLessThan(400);
});

test("a row that waits for its backoff starts close to its time, between the last look and the poll", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const startsAtMs: number[] = [];
  const handle = () => {
    startsAtMs.push(performance.now());
    if (startsAtMs.length <= 5) throw new Error("no");
  };
  await startWorker(world.lh, { k: { handle, retryDelayMs: () => 600 } });
  await inbox.enqueue("k", 1, { maxAttempts: 6 });
  await until("it was tried again", () => startsAtMs.length === 6, 15_000);
  const waitsMs = startsAtMs.slice(1).map((startedAtMs, n) => startedAtMs - startsAtMs[n]!);
  expect(Math.min(...waitsMs)).toBeGreaterThanOrEqual(590);
  // A worker that does not know when the row falls due has it with a poll, most often 1 400 ms after the failure; a busy machine delays one try, not most of them.
  expect(waitsMs.toSorted((a, b) => a - b)[2]).toBeLessThan(1_300);
});

test("a busy worker takes its wish back, and says it again when it has run out of work", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await startWorker(world.lh, { k: () => sleep(2) }, { concurrency: 4 });
  await asleep(world);
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
  await until("the wish is taken back", async () => (await wish(world)) === null, 10_000);
  isOver = true;
  await fed;
  await until("the wish is said again", async () => (await wish(world)) !== null, 15_000);
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
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const held = gate();
  const started: unknown[] = [];
  const handle = async (job: { payload: unknown }) => {
    started.push(job.payload);
    if (job.payload === "slow") await held.passed;
  };
  await startWorker(world.lh, { k: handle }, { concurrency: 1 });
  await inbox.enqueue("k", "slow");
  await until("the slot is taken", () => started.length === 1);
  await sleep(700);
  await inbox.enqueue("k", "next");
  await sleep(300);
  const openedAtMs = performance.now();
  held.open();
  await until("the next has started", () => started.length === 2, 5_000);
  expect(performance.now() - openedAtMs).toBeLessThan(400);
});
