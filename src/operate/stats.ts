import { countJobs } from "../database/statements.generated.js";
import type { QueueSeams } from "../work/queue-seams.js";

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
  /** Since when the oldest due job has been due: the lag a user feels. */
  readonly oldestDueAt: Date | null;
}

export async function stats(seams: QueueSeams): Promise<QueueStats> {
  const [row] = await seams.database.run(seams.bind(countJobs, { now: seams.clock.databaseNow() }));
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
  };
}
