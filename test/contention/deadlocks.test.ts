import { expect, test } from "vitest";
import type { ClaimedJob, Leasehold, Queue, Settlement } from "../../src/index.js";
import { isLong } from "../support/length.js";
import { seeded, setup } from "../support/world.js";

const connections = 8;
const rounds = isLong ? 1_250 : 150;
const rows = 300;
const perBatch = 120;

/**
 * In each round a few hundred rows are claimed, and eight connections fall over the same ones at once, each in an order of its own:
 * settles of every kind, renewals, redrives, discards, housekeeping. A statement that locks in another order than by id
 * deadlocks within a few rounds.
 */
test("overlapping batches of settles, renewals, redrives, discards and housekeeping never deadlock", async () => {
  const random = seeded(Number(process.env.SEED ?? 7));
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", maxAttempts: 1_000, maxCrashes: 1_000 });
  const trouble: string[] = [];
  const fleet = await Promise.all(
    Array.from({ length: connections }, () => world.connect({ connectionsMax: 3 })),
  );
  for (const lh of fleet) lh.on("database:retried", (event) => trouble.push(event.reason));
  const queues = await Promise.all(fleet.map((lh) => lh.queue("inbox")));

  let held = 0;
  for (let round = 0; round < rounds; round++) {
    const jobs = await claimed(inbox);
    const attacks = queues.map((queue, i) => attack(fleet[i]!, queue, { jobs, random }));
    held += (await Promise.all(attacks)).reduce((sum, count) => sum + count, 0);
    if (round % 10 === 9) await inbox.retry({ status: "pending" });
  }
  expect(trouble).toEqual([]);
  expect(held).toBeGreaterThan(rounds * 50);
}, 900_000);

/** Rows in process, topped up and claimed anew. */
async function claimed(queue: Queue): Promise<readonly ClaimedJob[]> {
  const { pending } = await queue.stats();
  const missing = Math.max(0, rows - pending);
  await queue.enqueueMany(Array.from({ length: missing }, (_, i) => ({ kind: "s", payload: i })));
  return await queue.claim({ workerId: "w", limit: rows, suspects: rows });
}

interface Round {
  readonly jobs: readonly ClaimedJob[];
  readonly random: () => number;
}

/** One connection's part of a round. Returns how many rows its settles found held. */
async function attack(lh: Leasehold, queue: Queue, round: Round): Promise<number> {
  const { random } = round;
  const jobs = shuffled(round);
  const ids = jobs.map((job) => job.id);
  const dice = random();
  if (dice < 0.1) await Promise.all(jobs.slice(0, 3).map((job) => queue.renew(job)));
  else if (dice < 0.15) await queue.retry({ ids });
  else if (dice < 0.2) await queue.discard({ ids: ids.slice(0, 20) });
  else if (dice < 0.22) await lh.housekeep();
  const held = await queue.settle(jobs.map((job) => ({ job, outcome: outcome(random()) })));
  return held.filter((isHeld) => isHeld).length;
}

function outcome(dice: number): Settlement["outcome"] {
  if (dice < 0.2) return { is: "complete" };
  if (dice < 0.6) return { is: "retry", error: "asked to fail", delayMs: 0 };
  if (dice < 0.7) return { is: "dead_letter", error: "gave up" };
  return { is: "release" };
}

function shuffled({ jobs, random }: Round): ClaimedJob[] {
  return jobs
    .map((job) => ({ job, at: random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, perBatch)
    .map(({ job }) => job);
}
