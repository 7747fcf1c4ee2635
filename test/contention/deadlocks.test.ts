import { expect, test } from "vitest";
import type { ClaimedJob, Leasehold, Queue, Settlement } from "../../src/index.js";
import { isLong } from "../support/length.js";
import { seeded, setup } from "../support/world.js";

const batches = isLong ? 10_000 : 1_500;
const connections = 8;

/**
 * The same rows in overlapping sets from eight connections, in every order a caller can think of: completes, retries, releases,
 * renewals, discards, redrives, claims and housekeeping. One statement that locks in another order than by id deadlocks here.
 */
test("overlapping batches of settles, renewals, redrives, discards and housekeeping never deadlock", async () => {
  const random = seeded(Number(process.env.SEED ?? 7));
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", maxAttempts: 1_000 });
  const retried: string[] = [];
  const fleet = await Promise.all(
    Array.from({ length: connections }, () => world.connect({ connectionsMax: 3 })),
  );
  for (const lh of fleet) lh.on("database:retried", (event) => retried.push(event.reason));
  const scene: Scene = { random, held: [], left: batches };
  await top(inbox, scene, 2_000);

  const queues = await Promise.all(fleet.map((lh) => lh.queue("inbox")));
  await Promise.all(queues.map((queue, i) => attack(fleet[i]!, queue, scene)));

  expect(retried).toEqual([]);
  const [deadlocks] = await world.sql<{ deadlocks: string }>(
    "select deadlocks from pg_stat_database where datname = current_database()",
  );
  expect(deadlocks?.deadlocks).toBe("0");
}, 600_000);

interface Scene {
  readonly random: () => number;
  held: ClaimedJob[];
  left: number;
}

async function top(queue: Queue, scene: Scene, count: number): Promise<void> {
  const jobs = Array.from({ length: count }, (_, i) => ({
    kind: "s",
    payload: i,
    partitionKey: `k${Math.floor(scene.random() * 4_000)}`,
  }));
  await queue.enqueueMany(jobs);
  scene.held = [
    ...scene.held,
    ...(await queue.claim({ workerId: "w", limit: count, retries: count, suspects: count })),
  ].slice(-2_000);
}

async function attack(lh: Leasehold, queue: Queue, scene: Scene): Promise<void> {
  const { random } = scene;
  while (scene.left > 0) {
    scene.left -= 1;
    const jobs = some(scene, 40);
    const ids = jobs.map((job) => job.id);
    const dice = random();
    if (dice < 0.55) await queue.settle(jobs.map((job) => ({ job, outcome: outcome(random()) })));
    else if (dice < 0.75)
      await Promise.all([
        queue.renew(jobs[0] ?? missing),
        ...jobs.slice(0, 3).map((job) => queue.renew(job)),
      ]);
    else if (dice < 0.85) await queue.retry({ ids });
    else if (dice < 0.88) await queue.discard({ ids: ids.slice(0, 10) });
    else if (dice < 0.9) await lh.housekeep();
    else await top(queue, scene, 60);
  }
}

const missing = { id: "00000000-0000-7000-8000-000000000000", workerId: "w", fenceToken: 1n };

function outcome(dice: number): Settlement["outcome"] {
  if (dice < 0.2) return { is: "complete" };
  if (dice < 0.6) return { is: "retry", error: "asked to fail", delayMs: 0 };
  if (dice < 0.7) return { is: "dead_letter", error: "gave up" };
  return { is: "release" };
}

/** Rows in random order, overlapping with what the other connections take. */
function some(scene: Scene, count: number): ClaimedJob[] {
  const { held, random } = scene;
  return Array.from({ length: count }, () => held[Math.floor(random() * held.length)]).filter(
    (job) => job !== undefined,
  );
}
