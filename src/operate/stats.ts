import type { DatedRows } from "../database/reader.js";
import { countJobs, estimateJobs } from "../database/statements.generated.js";
import type { OptionNames } from "../option-names.js";
import { defaults, flag } from "../settings.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { readWhole } from "./read-whole.js";
import { type RecentWork, recentWorkOn } from "./recent.js";
import { listWorkers } from "./workers.js";

/** Counts of a queue's hot table. Finished jobs are in the archive and not counted. */
export interface QueueStats {
  readonly scheduled: number;
  readonly pending: number;
  /** Claimed by a worker: running, or waiting in that worker. */
  readonly processing: number;
  /**
   * Those of `processing` that have not been started, because their worker holds an earlier row of their key. The others may be running: the database does not know which of
   * them wait for a free slot. 0 with order "none".
   */
  readonly prefetched: number;
  /** Those in the queue; after `deadLetterRetentionMs` they are moved to the archive. */
  readonly deadLetter: number;
  /** Pending and due now. */
  readonly due: number;
  /** Waiting for another attempt. */
  readonly retrying: number;
  /** In process with a lease that has run out; the next claim of their bucket takes them over. */
  readonly expired: number;
  /** Since when the oldest due job has been due: the lag a user feels. Of an estimate, the oldest that was found. */
  readonly oldestDueAt: Date | null;
  /** What the live workers of the queue did in the last minute or two. */
  readonly recent: RecentWork;
  /** The part of the table that was read, above 0 and up to 1. Below 1 the counts are estimates, and a status that few rows have may be 0. */
  readonly share: number;
  /** Who counted the jobs: the primary, or the server behind replicaUrl. `recent` is always the primary's. */
  readonly source: "primary" | "replica";
  /** Of a replica: the counts have everything that was committed until then. Null when the primary counted, and when the replica has replayed no transaction since it started. */
  readonly asOf: Date | null;
}

export interface StatsOptions {
  /** False reads at most 16 MB of a large table and scales up; true, the default, reads all of it. */
  readonly exact?: boolean | undefined;
}

export const statsOptionNames: OptionNames<StatsOptions> = Object.freeze({ exact: true });

/** What the queue's table says, without what its workers tell of themselves. */
export type JobCounts = Omit<QueueStats, "recent">;

export async function stats(seams: StatsSeams, options: StatsOptions): Promise<QueueStats> {
  const counts = await countsOf(seams, options);
  // Who works is asked of the primary: an old heartbeat looks like a dead worker.
  return { ...counts, recent: recentWorkOn(await listWorkers(seams), seams.settings.name) };
}

export async function countsOf(seams: CountSeams, options: StatsOptions): Promise<JobCounts> {
  const now = seams.clock.databaseNow();
  const bounds = { bytesMax: defaults.statsBytesMax, frontRows: defaults.statsFrontRows };
  const answer: DatedRows<Row> = flag("exact", options.exact, true)
    ? await readWhole(
        seams.bind(countJobs, { now }),
        (query) => seams.reads.runAsOf(query),
        "stats({ exact: false }) reads a part of a large queue.",
      )
    : await seams.reads.runAsOf(seams.bind(estimateJobs, { now, ...bounds }));
  const [row] = answer.rows;
  return {
    scheduled: Number(row?.scheduled ?? 0),
    pending: Number(row?.pending ?? 0),
    processing: Number(row?.processing ?? 0),
    prefetched: Number(row?.prefetched ?? 0),
    deadLetter: Number(row?.dead_letter ?? 0),
    due: Number(row?.due ?? 0),
    retrying: Number(row?.retrying ?? 0),
    expired: Number(row?.expired ?? 0),
    oldestDueAt: row?.oldest_due_at ?? null,
    share: row?.share ?? 1,
    source: answer.source,
    asOf: answer.asOf,
  };
}

type CountSeams = Pick<QueueSeams, "reads" | "bind" | "clock">;

type StatsSeams = CountSeams & Pick<QueueSeams, "database" | "settings">;

type Row = NonNullable<(typeof countJobs)["row"]> & { readonly share?: number };
