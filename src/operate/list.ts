import { primaryReader } from "../database/reader.js";
import { type JobRow, toJobRecord } from "../database/rows.js";
import {
  getJob,
  listArchivedDeadLetters,
  listArchivedJobs,
  listJobs,
} from "../database/statements.generated.js";
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
  const limit = wholeNumber("limit", filter.limit, {
    fallback: defaults.listLimit,
    min: 1,
    max: defaults.listLimitMax,
  });
  const page = {
    status: status ?? null,
    kind: filter.kind ?? null,
    partitionKey: filter.partitionKey ?? null,
    before: filter.before === undefined ? null : checkedId("before", filter.before),
    limit,
    payloadBytes: payloadBytesOf(limit),
  };
  // Dead letters are in two places. One that moves between them would be missed if these were not of the same server.
  const reads = status === "dead_letter" ? primaryReader(seams.database) : seams.reads;
  const rows = [
    ...(isArchived ? [] : await reads.run(seams.bind(listJobs, page))),
    ...(isArchived ? await reads.run(seams.bind(listArchivedJobs, page)) : []),
    ...(status === "dead_letter" ? await reads.run(seams.bind(listArchivedDeadLetters, page)) : []),
  ];
  return newest(rows, page.limit).map((row) => toJobRecord(row, seams.settings.name));
}

/** A page is never longer than what a process can hold, and its rows have equal parts of that, so that a page is as long as was asked for. */
export function payloadBytesOf(limit: number): number {
  return Math.min(defaults.getBytesMax, Math.floor(defaults.listBytesMax / limit));
}

function newest(rows: readonly JobRow[], limit: number): readonly JobRow[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return [...byId.values()].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit);
}

/** One job, wherever it is; null when there is none with that id, or it was finished longer ago than the retention. */
export async function get(seams: QueueSeams, id: string): Promise<JobRecord | null> {
  const wanted = { id: checkedId("id", id), payloadBytes: defaults.getBytesMax };
  const [row] = await seams.database.run(seams.bind(getJob, wanted));
  return row === undefined ? null : toJobRecord(row, seams.settings.name);
}
