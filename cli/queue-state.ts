import type { Leasehold, QueueStats, WorkerRow } from "../src/index.js";
import { age, count, counted } from "./figures.js";
import { unlessDropped } from "./unless-dropped.js";

/** A queue as `leasehold status` shows it; its keys are those of --json. */
export interface QueueState extends QueueStats {
  readonly name: string;
  /** Unfinished jobs: scheduled, pending and processing. */
  readonly depth: number;
  readonly pausedAt: Date | null;
  /** Live workers that can claim from it. */
  readonly workers: number;
  /** Live workers whose claims or settles fail, by id. */
  readonly failing: readonly string[];
}

/** What stands in the way of a queue. */
export interface Problem {
  readonly queue: string;
  readonly code: "no_workers" | "workers_failing" | "behind" | "leases_expired" | "paused" | "dead_letters";
  readonly severity: "bad" | "warn";
  readonly message: string;
  readonly advice: string;
}

/** Due for longer than this counts as behind. */
const behindMs = 60_000;
const atATime = 4;

/** Every queue, a few at a time. */
export async function readStates(lh: Leasehold, isExact: boolean): Promise<readonly QueueState[]> {
  const [queues, workers] = [await lh.queues(), await lh.workers()];
  const states: QueueState[] = [];
  for (let from = 0; from < queues.length; from += atATime) {
    const some = queues.slice(from, from + atATime).map(async ({ name, pausedAt }) => {
      const stats = await unlessDropped(lh.queue(name).then((queue) => queue.stats({ exact: isExact })));
      if (stats === null) return [];
      const here = workers.filter((worker) => isAlive(worker) && worker.queues.includes(name));
      const failing = here.filter((worker) => worker.failing[name] !== undefined).map(({ id }) => id);
      const depth = stats.scheduled + stats.pending + stats.processing;
      return [{ name, depth, ...stats, pausedAt, workers: here.length - failing.length, failing }];
    });
    states.push(...(await Promise.all(some)).flat());
  }
  return states;
}

function isAlive({ state, expiresInMs }: WorkerRow): boolean {
  return state === "alive" && expiresInMs > 0;
}

/** The causes before the symptoms: what explains the others comes first. */
export function problemsOf(state: QueueState, now: Date): readonly Problem[] {
  const { name: queue, due, oldestDueAt, pausedAt, workers, failing, expired, deadLetter } = state;
  const problems: Problem[] = [];
  const add = (
    code: Problem["code"],
    severity: Problem["severity"],
    message: string,
    advice: string,
  ): void => {
    problems.push({ queue, code, severity, message, advice });
  };
  if (failing.length > 0) {
    const words = `claims or settles fail on ${counted(failing.length, "worker")}: ${failing.join(", ")}`;
    add("workers_failing", "bad", words, "leasehold workers");
  }
  const waits = pausedAt === null && due > 0;
  if (waits && workers === 0 && failing.length === 0)
    add("no_workers", "bad", `${count(due)} due, and no worker is alive`, "leasehold worker worker.mjs");
  const isBehind = oldestDueAt !== null && now.getTime() - oldestDueAt.getTime() > behindMs;
  if (waits && workers > 0 && isBehind)
    add(
      "behind",
      "bad",
      `the oldest due job has waited for ${age(oldestDueAt, now)}`,
      `leasehold doctor; leasehold runbook oldest-due --queue ${queue}`,
    );
  if (expired > 0)
    add(
      "leases_expired",
      "warn",
      `${counted(expired, "lease")} ran out`,
      `leasehold jobs list ${queue} --status processing`,
    );
  if (pausedAt !== null)
    add("paused", "warn", `paused for ${age(pausedAt, now)}`, `leasehold queues resume ${queue}`);
  if (deadLetter > 0)
    add("dead_letters", "warn", counted(deadLetter, "dead letter"), `leasehold dead ${queue}`);
  return problems;
}
