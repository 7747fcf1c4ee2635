import type {
  countRecentDead,
  listPoisonJobs,
  listSnapshotHolders,
  listUnhandledKinds,
  readQueueStorage,
  readServerHealth,
  sampleKeys,
} from "../database/statements.generated.js";
import type { HistoryEntry } from "../history/read.js";
import type { Ring } from "../membership/ring.js";
import type { QueueSummary } from "../operate/queues.js";
import type { QueueStats } from "../operate/stats.js";
import { type WorkerRow, worksOn } from "../operate/workers.js";

type RowOf<S extends { readonly row?: unknown }> = NonNullable<S["row"]>;

/** Everything that the rules look at. Gathered once, so that the rules are pure. */
export interface Facts {
  readonly schema: string;
  /** By the database's clock, and how far this machine's is ahead of it; null when that was not measured. */
  readonly now: Date;
  readonly aheadMs: number | null;
  readonly server: RowOf<typeof readServerHealth>;
  readonly holders: readonly RowOf<typeof listSnapshotHolders>[];
  readonly workers: readonly WorkerRow[];
  /** Of the last ten minutes, newest first. */
  readonly history: readonly HistoryEntry[];
  readonly queues: readonly QueueFacts[];
}

export interface QueueFacts {
  readonly summary: QueueSummary;
  readonly stats: QueueStats;
  readonly ring: Ring;
  readonly storage: RowOf<typeof readQueueStorage>;
  /** The keys with the most due rows, in a part of the table; each has the count of jobs that only wait for a slot. */
  readonly keys: readonly RowOf<typeof sampleKeys>[];
  readonly poison: readonly RowOf<typeof listPoisonJobs>[];
  readonly dead: RowOf<typeof countRecentDead>;
  readonly unhandled: readonly RowOf<typeof listUnhandledKinds>[];
}

/** Workers that may own buckets of a queue, or might if they did not fail. */
export function workersOn({ workers }: Pick<Facts, "workers">, queue: string): readonly WorkerRow[] {
  return workers.filter((worker) => worksOn(worker, queue));
}

/** For how long the oldest due job has been due; 0 when nothing is. */
export function lagMs(now: Date, { oldestDueAt }: Pick<QueueStats, "oldestDueAt">): number {
  return oldestDueAt === null ? 0 : Math.max(0, now.getTime() - oldestDueAt.getTime());
}
