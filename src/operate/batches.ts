import { InvalidOptionError } from "../errors.js";
import type { Query } from "../seams/database.js";
import { defaults } from "../settings.js";
import type { JobStatus } from "../work/job.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { checkedFilter, type JobFilter } from "./job-filter.js";

/** Called after each batch of a long operation, with how many jobs are done. */
export type Progress = (done: number) => void;

interface Operation {
  /** How many rows to change at most. */
  readonly limit: number | undefined;
  /** More of the set that was fixed at the start, at most so many ids. Never gives an id twice; empty at the end. */
  pick(limit: number): Promise<readonly string[]>;
  /** One statement that changes these and can be sent again under its receipt. */
  change(ids: readonly string[], receipt: string): Query<{ readonly changed: number }>;
  readonly progress: Progress | undefined;
}

/**
 * Changes batch after batch until the set or the limit is used up. A batch of which nothing could be changed is no end: others may have taken it. A pick may read the whole table, so it gives many
 * batches at once.
 */
export async function inBatches(seams: QueueSeams, operation: Operation): Promise<number> {
  const total = operation.limit ?? defaults.operateRowsMax;
  let done = 0;
  let picked: readonly string[] = [];
  let hasMore = true;
  while (done < total) {
    if (picked.length === 0 && hasMore) {
      const wanted = Math.min(defaults.operatePickRows, total - done);
      picked = await operation.pick(wanted);
      hasMore = picked.length === wanted;
    }
    if (picked.length === 0) break;
    const rows = Math.min(defaults.operateBatchRows, total - done);
    const ids = picked.slice(0, rows);
    picked = picked.slice(rows);
    const [row] = await seams.database.run(operation.change(ids, seams.newId()));
    if (row === undefined || row.changed === 0) continue;
    done += row.changed;
    operation.progress?.(done);
  }
  return done;
}

export const changeable: readonly JobStatus[] = Object.freeze(["dead_letter", "pending", "scheduled"]);

/** The statuses that a filter means; with ids all that can be changed, with a fingerprint dead letters. */
export function narrowed(filter: JobFilter, fallback: readonly JobStatus[]): readonly JobStatus[] {
  checkedFilter(filter);
  if (filter.status === undefined && filter.fingerprint !== undefined) return ["dead_letter"];
  if (filter.status === undefined) return filter.ids === undefined ? fallback : changeable;
  if (!changeable.includes(filter.status))
    throw new InvalidOptionError("status", filter.status, `one of ${changeable.join(", ")}`);
  return [filter.status];
}
