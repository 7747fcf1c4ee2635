import { type JobRow, toJobRecord } from "../database/rows.js";
import { getJob, listArchivedJobs, listJobs } from "../database/statements.generated.js";
import { defaults, wholeNumber } from "../settings.js";
import type { JobRecord } from "../work/job.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { checkedFilter, checkedId, type ListFilter } from "./job-filter.js";

/**
 * One page of jobs, newest first. Finished ones are read from the archive, and only when asked for by status. Dead letters may be in both; they move from the queue to the archive,
 * so with the queue read first none is missed.
 */
export async function list(seams: QueueSeams, filter: ListFilter): Promise<readonly JobRecord[]> {
  checkedFilter(filter);
  const { status } = filter;
  const isArchived = status === "completed" || status === "discarded";
  const page = {
    status: status ?? null,
    kind: filter.kind ?? null,
    partitionKey: filter.partitionKey ?? null,
    before: filter.before === undefined ? null : checkedId("before", filter.before),
    limit: wholeNumber("limit", filter.limit, {
      fallback: defaults.listLimit,
      min: 1,
      max: defaults.listLimitMax,
    }),
  };
  const rows = [
    ...(isArchived ? [] : await seams.database.run(seams.bind(listJobs, page))),
    ...(isArchived || status === "dead_letter"
      ? await seams.database.run(seams.bind(listArchivedJobs, page))
      : []),
  ];
  return newest(rows, page.limit).map((row) => toJobRecord(row, seams.settings.name));
}

function newest(rows: readonly JobRow[], limit: number): readonly JobRow[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return [...byId.values()].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit);
}

/** One job, wherever it is; null when there is none with that id, or it was finished longer ago than the retention. */
export async function get(seams: QueueSeams, id: string): Promise<JobRecord | null> {
  const [row] = await seams.database.run(seams.bind(getJob, { id: checkedId("id", id) }));
  return row === undefined ? null : toJobRecord(row, seams.settings.name);
}
