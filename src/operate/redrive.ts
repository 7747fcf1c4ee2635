import { discardJobs, pickJobs, redriveJobs } from "../database/statements.generated.js";
import { InvalidOptionError } from "../errors.js";
import type { Query } from "../seams/database.js";
import { defaults } from "../settings.js";
import type { JobStatus } from "../work/job.js";
import { storableText } from "../work/json.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { checkedFilter, type JobFilter } from "./job-filter.js";

/** Called after each batch of a long operation, with how many jobs are done. */
export type Progress = (done: number) => void;

/** Gives dead letters another round, oldest place first; rows in backoff become due now. Returns how many. */
export async function retry(seams: QueueSeams, filter: JobFilter, progress?: Progress): Promise<number> {
  const statuses = narrowed(filter, ["dead_letter", "pending", "scheduled"], ["dead_letter"]);
  const change = (ids: readonly string[]) => seams.bind(redriveJobs, { ids, now: seams.clock.databaseNow() });
  return await inBatches(seams, { filter, statuses, waiting: true, change, progress });
}

/** Takes jobs out of the queue for good; they stay readable in the archive. Rows in process are left alone. */
export async function discard(
  seams: QueueSeams,
  filter: JobFilter & { readonly reason?: string },
  progress?: Progress,
): Promise<number> {
  const statuses = narrowed(
    filter,
    ["dead_letter", "pending", "scheduled"],
    ["dead_letter", "pending", "scheduled"],
  );
  if (
    filter.ids === undefined &&
    filter.status === undefined &&
    filter.kind === undefined &&
    filter.partitionKey === undefined
  ) {
    throw new InvalidOptionError(
      "filter",
      filter,
      "narrower: discarding everything must be asked for by status",
    );
  }
  const reason = checkedReason(filter.reason);
  const change = (ids: readonly string[]) =>
    seams.bind(discardJobs, { ids, reason, now: seams.clock.databaseNow() });
  return await inBatches(seams, { filter, statuses, waiting: false, change, progress });
}

interface Operation {
  readonly filter: JobFilter;
  readonly statuses: readonly JobStatus[];
  readonly waiting: boolean;
  readonly change: (ids: readonly string[]) => Query<{ readonly id: string }>;
  readonly progress: Progress | undefined;
}

/** A batch at a time until a pick comes back empty, changes nothing (the rest is in somebody's hands), or the limit is reached. */
async function inBatches(seams: QueueSeams, operation: Operation): Promise<number> {
  const { filter, statuses, waiting, change, progress } = operation;
  const total = filter.limit ?? defaults.operateRowsMax;
  let done = 0;
  while (done < total) {
    const pick = seams.bind(pickJobs, {
      ids: filter.ids ?? null,
      statuses,
      waiting,
      now: seams.clock.databaseNow(),
      kind: filter.kind ?? null,
      partitionKey: filter.partitionKey ?? null,
      limit: Math.min(defaults.operateBatchRows, total - done),
    });
    const ids = (await seams.database.run(pick)).map((row) => row.id);
    if (ids.length === 0) break;
    const changed = (await seams.database.run(change(ids))).length;
    if (changed === 0) break;
    done += changed;
    progress?.(done);
  }
  return done;
}

function narrowed(
  filter: JobFilter,
  allowed: readonly JobStatus[],
  fallback: readonly JobStatus[],
): readonly JobStatus[] {
  checkedFilter(filter);
  if (filter.status === undefined) return filter.ids === undefined ? fallback : allowed;
  if (!allowed.includes(filter.status))
    throw new InvalidOptionError("status", filter.status, `one of ${allowed.join(", ")}`);
  return [filter.status];
}

function checkedReason(reason: unknown): string | null {
  if (reason === undefined) return null;
  if (typeof reason !== "string") throw new InvalidOptionError("reason", reason, "text");
  return storableText(reason);
}
