import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { evictWorker, listWorkers as listWorkersStatement } from "../database/statements.generated.js";
import { UnknownWorkerError } from "../errors.js";
import { loadIn, type WorkerLoad } from "../membership/load.js";
import type { Clock } from "../seams/clock.js";

export interface WorkersSeams {
  readonly database: Pick<GuardedDatabase, "run">;
  readonly bind: Binder;
  readonly clock: Clock;
}

/** A worker as an operator sees it. */
export interface WorkerRow {
  readonly id: string;
  readonly hostname: string | null;
  readonly pid: number | null;
  readonly region: string | null;
  /** `left`: it stopped in good order. `dead`: it was not seen for its TTL, its session was gone, or somebody evicted it. */
  readonly state: "alive" | "draining" | "dead" | "left";
  readonly startedAt: Date;
  readonly lastSeenAt: Date;
  /** Negative when its TTL has passed. */
  readonly expiresInMs: number;
  /** How often a process of this id has registered. */
  readonly generation: number;
  readonly queues: readonly string[];
  /** For each queue, the kinds that it has handlers for; all, where a queue is missing. */
  readonly kinds: Readonly<Record<string, readonly string[]>>;
  /** Queues of which its claims or settles always fail. It owns no buckets of these until one works again. */
  readonly failing: Readonly<Record<string, FailingQueue>>;
  readonly hasSession: boolean;
  readonly freeSince: Date | null;
  /** What the process gave to connect({ metadata }). */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What it said of itself with its last heartbeat. */
  readonly load: WorkerLoad;
}

interface FailingQueue {
  readonly what: "claim" | "settle";
  readonly reason: string;
  readonly since: Date;
}

/** True when it may own buckets of the queue. */
export function isLiveOn(worker: WorkerRow, queue: string): boolean {
  return worksOn(worker, queue) && worker.failing[queue] === undefined;
}

/** True when it may own buckets of the queue, or might if it did not fail. */
export function worksOn(worker: WorkerRow, queue: string): boolean {
  return worker.state === "alive" && worker.expiresInMs > 0 && worker.queues.includes(queue);
}

export async function listWorkers(seams: WorkersSeams): Promise<readonly WorkerRow[]> {
  const rows = await seams.database.run(seams.bind(listWorkersStatement, { now: seams.clock.databaseNow() }));
  return rows.map((row) =>
    Object.freeze({
      id: row.id,
      hostname: row.hostname,
      pid: row.pid,
      region: row.region,
      state: (row.left_at !== null ? "left" : row.status) as WorkerRow["state"],
      startedAt: row.started_at,
      lastSeenAt: row.last_seen_at,
      expiresInMs: row.expires_in_ms,
      generation: Number(row.generation),
      queues: row.queues,
      kinds: row.kinds as Record<string, readonly string[]>,
      failing: failingOf(row.failing),
      hasSession: row.has_session,
      freeSince: row.free_since,
      ...loadIn(row.metadata as Readonly<Record<string, unknown>>),
    }),
  );
}

function failingOf(stored: unknown): WorkerRow["failing"] {
  const entries = Object.entries(stored as Record<string, FailingQueue & { readonly since: string }>);
  return Object.freeze(
    Object.fromEntries(entries.map(([queue, one]) => [queue, { ...one, since: new Date(one.since) }])),
  );
}

export async function evict(seams: WorkersSeams, workerId: string): Promise<void> {
  const rows = await seams.database.run(seams.bind(evictWorker, { id: workerId }));
  if (rows.length === 0) throw new UnknownWorkerError(workerId);
}
