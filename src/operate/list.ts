import { toJobRecord } from "../database/rows.js";
import { getJob, listArchivedJobs, listJobs } from "../database/statements.generated.js";
import { defaults, wholeNumber } from "../settings.js";
import type { JobRecord } from "../work/job.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { checkedFilter, checkedId, type ListFilter } from "./job-filter.js";

/** One page of jobs, newest first. Finished ones are read from the archive, and only when asked for by status. */
export async function list(seams: QueueSeams, filter: ListFilter): Promise<readonly JobRecord[]> {
  checkedFilter(filter);
  const isArchived = filter.status === "completed" || filter.status === "discarded";
  const query = seams.bind(isArchived ? listArchivedJobs : listJobs, {
    status: filter.status ?? null,
    kind: filter.kind ?? null,
    partitionKey: filter.partitionKey ?? null,
    before: filter.before === undefined ? null : checkedId("before", filter.before),
    limit: wholeNumber("limit", filter.limit, {
      fallback: defaults.listLimit,
      min: 1,
      max: defaults.listLimitMax,
    }),
  });
  return (await seams.database.run(query)).map((row) => toJobRecord(row, seams.settings.name));
}

/** One job, wherever it is; null when there is none with that id, or it was finished longer ago than the retention. */
export async function get(seams: QueueSeams, id: string): Promise<JobRecord | null> {
  const [row] = await seams.database.run(seams.bind(getJob, { id: checkedId("id", id) }));
  return row === undefined ? null : toJobRecord(row, seams.settings.name);
}
