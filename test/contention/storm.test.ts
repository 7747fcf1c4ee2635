import { expect, test } from "vitest";
import { type ClaimedJob, deadLetter, type Queue, retryAfter } from "../../src/index.js";
import type { Clock } from "../../src/seams/clock.js";
import { fastClock } from "../support/fast-clock.js";
import { isLong } from "../support/length.js";
import { LineWatch } from "../support/line-watch.js";
import { seeded, setup, type World } from "../support/world.js";

const seconds = isLong ? 60 : 6;
/** Fewer prove nothing; on any machine there are many times as many. */
const claimsMin = 20;
const claimers = 12;
const keys = 6;

/**
 * Everything that moves rows in a line at once: transactions that commit late, scheduled rows that fall due, retries, releases, dead
 * letters and their redrive, leases that run out, housekeeping, and twelve claimers on all buckets.
 */
test(
  "no storm of late commits, redrives, promotions, releases and lost leases makes two rows of a key run at once or jump",
  async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    const clock = fastClock(50);
    const world = await setup({ clock, connectionsMax: 6 });
    const inbox = await world.queue("inbox", { order: "key", maxAttempts: 1_000, maxCrashes: 1_000 });
    const scene: Scene = {
      world,
      clock,
      inbox,
      watch: new LineWatch(),
      random: seeded(seed),
      until: Date.now() + seconds * 1_000,
      all: [],
    };

    const connections = await Promise.all(
      Array.from({ length: claimers }, () => world.connect({ connectionsMax: 2 })),
    );
    const queues = await Promise.all(connections.map((lh) => lh.queue("inbox")));
    const producers = Array.from({ length: 8 }, () => lateProducer(scene));
    const others = [promptProducer(scene), redriver(scene), housekeeper(scene)];
    await Promise.all([...producers, ...others, ...queues.map((queue, i) => claimer(queue, `w${i}`, scene))]);
    scene.until = Date.now() + 60_000;
    await finish(scene);

    expect(scene.watch.violations.slice(0, 5), `seed ${seed}`).toEqual([]);
    expect(scene.watch.claims).toBeGreaterThan(claimsMin);
    const left = await world.sql<{ n: number }>("select count(*)::int as n from leasehold.inbox");
    const done = await world.sql<{ n: number }>(
      "select count(distinct id)::int as n from leasehold.inbox_archive where status = 'completed'",
    );
    expect({ left: left[0]?.n, done: done[0]?.n }).toEqual({ left: 0, done: scene.all.length });
  },
  seconds * 1_000 + 180_000,
);

interface Scene {
  readonly world: World;
  readonly clock: Clock;
  readonly inbox: Queue;
  readonly watch: LineWatch;
  readonly random: () => number;
  until: number;
  readonly all: string[];
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const someKey = (scene: Scene) => `key-${Math.floor(scene.random() * keys)}`;

/** Draws places early and commits late, one to forty rows at a time, so that windows are both full and not. */
async function lateProducer(scene: Scene): Promise<void> {
  const client = await scene.world.client();
  while (Date.now() < scene.until) {
    const key = someKey(scene);
    const count = scene.random() < 0.2 ? 40 : 1 + Math.floor(scene.random() * 3);
    await client.query("begin");
    const jobs = Array.from({ length: count }, (_, i) => ({ kind: "late", payload: i, partitionKey: key }));
    const added = await scene.inbox.enqueueMany(jobs, { tx: client });
    await pause(scene.random() * (scene.random() < 0.2 ? 150 : 10));
    await client.query("commit");
    await known(
      scene,
      added.map((row) => row.id),
    );
    await pause(scene.random() * 20);
  }
}

async function promptProducer(scene: Scene): Promise<void> {
  while (Date.now() < scene.until) {
    const delayMs = scene.random() < 0.3 ? Math.floor(scene.random() * 5_000) : 0;
    const { id } = await scene.inbox.enqueue("prompt", null, { partitionKey: someKey(scene), delayMs });
    if (delayMs > 0) scene.all.push(id);
    else await known(scene, [id]);
    await pause(scene.random() * 10);
  }
}

async function redriver(scene: Scene): Promise<void> {
  while (Date.now() < scene.until) {
    await pause(30);
    await scene.inbox.retry({ limit: 5 });
  }
}

async function housekeeper(scene: Scene): Promise<void> {
  while (Date.now() < scene.until) {
    await pause(300);
    await scene.world.lh.housekeep();
  }
}

async function known(scene: Scene, ids: readonly string[]): Promise<void> {
  scene.all.push(...ids);
  const text =
    "select id, partition_key, seq from leasehold.inbox where id = any($1) and status = 'pending' and attempts = 0";
  for (const row of await scene.world.sql<{ id: string; partition_key: string; seq: string }>(text, [ids])) {
    if (!scene.watch.completed.has(row.id)) scene.watch.enqueued(row.partition_key, row.id, BigInt(row.seq));
  }
}

async function claimer(queue: Queue, workerId: string, scene: Scene): Promise<void> {
  while (Date.now() < scene.until) {
    const before = scene.watch.claiming();
    const jobs = await queue.claim({ workerId, limit: 1 + Math.floor(scene.random() * 30), leaseMs: 60_000 });
    scene.watch.claimed(before, jobs);
    for (const job of jobs) scene.watch.completed.add(job.id);
    if (scene.random() < 0.1) await pause(scene.random() * 20);
    await handleAll(queue, jobs, scene);
    if (jobs.length === 0) await pause(scene.random() * 5);
  }
}

/** In order; when a row goes back, the rest of its key goes back with it. */
async function handleAll(queue: Queue, jobs: readonly ClaimedJob[], scene: Scene): Promise<void> {
  const goneBack = new Set<string>();
  for (const [i, job] of jobs.entries()) {
    if (goneBack.has(job.partitionKey)) continue;
    if (isTooLate(job, scene)) {
      for (const left of jobs.slice(i)) scene.watch.settling(left, false);
      return;
    }
    const rest = jobs.slice(i + 1).filter((left) => left.partitionKey === job.partitionKey);
    const isDone = await handle(queue, job, rest, scene);
    if (!isDone) goneBack.add(job.partitionKey);
  }
}

/** A worker that has been slow for so long that its lease may run out lets go, as it should. */
function isTooLate(job: ClaimedJob, scene: Scene): boolean {
  return (scene.clock.databaseNow() ?? new Date()).getTime() > job.leaseExpiresAt.getTime() - 20_000;
}

/** False when the rest of the key goes back, or is walked away from until its leases run out. */
async function handle(
  queue: Queue,
  job: ClaimedJob,
  rest: readonly ClaimedJob[],
  scene: Scene,
): Promise<boolean> {
  const { watch, random } = scene;
  const fate = random();
  const goesBack = fate < 0.06;
  watch.settling(job, fate >= 0.09);
  if (goesBack) for (const left of rest) watch.settling(left, false);
  if (fate < 0.01) return false;
  if (fate < 0.04) await queue.fail(job, retryAfter(Math.floor(random() * 1_000)));
  else if (goesBack) await queue.release(job);
  else if (fate < 0.09) {
    watch.left(job.partitionKey, job.id);
    await queue.fail(job, deadLetter("gave up"));
  } else await queue.complete(job);
  return !goesBack;
}

/** Redrives and drains what is left, in peace. */
async function finish(scene: Scene): Promise<void> {
  for (let passes = 0; passes < 5_000; passes++) {
    await scene.inbox.retry();
    const jobs = await scene.inbox.claim({ workerId: "last", limit: 200 });
    for (const job of jobs) await scene.inbox.complete(job);
    const [open] = await scene.world.sql<{ n: number }>("select count(*)::int as n from leasehold.inbox");
    if (open?.n === 0) return;
    if (jobs.length === 0) await pause(20);
  }
}
