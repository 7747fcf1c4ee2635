import { expect, test } from "vitest";
import type { ClaimedJob, Queue, Settlement } from "../../src/index.js";
import { fastClock } from "../support/fast-clock.js";
import { isLong } from "../support/length.js";
import { LineWatch } from "../support/line-watch.js";
import { seeded, setup } from "../support/world.js";

const keys = 1_000;
const rows = isLong ? 50_000 : 15_000;
const claimers = 16;

/**
 * Nobody owns anything here: every claimer claims from all buckets. A tenth of the claims run into a failure, and some runs are
 * abandoned until their lease runs out. Database time runs fifty times faster, so that backoff and leases pass quickly.
 */
test("sixteen claimers without ownership keep the order of a thousand keys through failures and lost leases", async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
  const random = seeded(seed);
  const clock = fastClock(50);
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", {
    order: "key",
    retentionMs: 0,
    maxAttempts: 100,
    maxCrashes: 100,
  });
  const input = Array.from({ length: rows }, (_, i) => ({
    kind: "s",
    payload: i,
    partitionKey: `key-${i % keys}`,
  }));
  await inbox.enqueueMany(input);
  const watch = new LineWatch();
  for (const row of await world.sql<{ partition_key: string; id: string; seq: string }>(
    "select partition_key, id, seq from leasehold.inbox",
  )) {
    watch.enqueued(row.partition_key, row.id, BigInt(row.seq));
  }

  const connections = await Promise.all(
    Array.from({ length: claimers }, () => world.connect({ connectionsMax: 2 })),
  );
  const queues = await Promise.all(connections.map((lh) => lh.queue("inbox")));
  await Promise.all(
    queues.map((queue, i) =>
      claimer(queue, `w${i}`, { watch, random, isDone: () => watch.completed.size === rows }),
    ),
  );

  expect(watch.violations.slice(0, 5), `seed ${seed}`).toEqual([]);
  expect(watch.completed.size).toBe(rows);
  expect(await world.sql("select 1 from leasehold.inbox limit 1")).toEqual([]);
  const order = new Map<string, number>();
  for (const entry of watch.completed) {
    const [key, n] = entry.split(" ");
    expect(Number(n), `seed ${seed}`).toBeGreaterThan(order.get(key!) ?? -1);
    order.set(key!, Number(n));
  }
}, 240_000);

interface Scene {
  readonly watch: LineWatch;
  readonly random: () => number;
  readonly isDone: () => boolean;
}

async function claimer(queue: Queue, workerId: string, scene: Scene): Promise<void> {
  const { watch, random } = scene;
  for (let passes = 0; passes < 20_000 && !scene.isDone(); passes++) {
    const before = watch.claiming();
    const jobs = await queue.claim({ workerId, limit: 1 + Math.floor(random() * 120), leaseMs: 250_000 });
    watch.claimed(before, jobs);
    await new Promise((resolve) => setTimeout(resolve, random() * 3));
    const settlements: Settlement[] = [];
    for (const run of runs(jobs)) settlements.push(...outcomes(run, scene));
    const held = await queue.settle(settlements);
    settlements.forEach(({ job, outcome }, i) => {
      if (outcome.is === "complete" && held[i] === true) {
        const { partitionKey, payload } = job as ClaimedJob;
        watch.completed.add(`${partitionKey} ${payload}`);
      }
    });
  }
}

/** Completes a run; or fails at some row and releases the rest with it; or walks away and lets the leases run out. */
function outcomes(run: readonly ClaimedJob[], { watch, random }: Scene): Settlement[] {
  const fate = random();
  const stopAt = fate < 0.1 ? Math.floor(random() * run.length) : run.length;
  const isAbandoned = fate < 0.01;
  const settlements: Settlement[] = [];
  run.forEach((job, i) => {
    watch.settling(job, i < stopAt);
    if (i < stopAt) settlements.push({ job, outcome: { is: "complete" } });
    else if (!isAbandoned && i > stopAt) settlements.push({ job, outcome: { is: "release" } });
    else if (!isAbandoned)
      settlements.push({
        job,
        outcome: { is: "retry", error: "asked to fail", delayMs: Math.floor(random() * 500) },
      });
  });
  return settlements;
}

function runs(jobs: readonly ClaimedJob[]): ClaimedJob[][] {
  const groups = new Map<string, ClaimedJob[]>();
  for (const job of jobs) groups.set(job.partitionKey, [...(groups.get(job.partitionKey) ?? []), job]);
  return [...groups.values()];
}
