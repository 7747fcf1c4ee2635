import { discardJobs, pickForDiscard } from "../database/statements.generated.js";
import { InvalidOptionError } from "../errors.js";
import { defaults } from "../settings.js";
import { storableText } from "../work/json.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { changeable, inBatches, narrowed, type Progress } from "./batches.js";
import type { DiscardFilter, JobFilter } from "./job-filter.js";
import { readWhole } from "./read-whole.js";
import { recordedFilter } from "./recorded-filter.js";

/**
 * Takes jobs out of the queue for good; they stay readable in the archive. Rows in process are left alone. The set is read once, at the start: what is enqueued
 * while this runs stays.
 */
export async function discard(
  seams: QueueSeams,
  filter: DiscardFilter,
  progress?: Progress,
): Promise<number> {
  const statuses = narrowed(filter, changeable);
  checkNarrow(filter);
  const reason = checkedReason(filter.reason);
  const picked = seams.bind(pickForDiscard, {
    ids: filter.ids ?? null,
    statuses,
    kind: filter.kind ?? null,
    partitionKey: filter.partitionKey ?? null,
    fingerprint: filter.fingerprint ?? null,
    limit: pickRows(filter.limit),
  });
  const [set] = await readWhole(picked, (query) => seams.database.run(query), advice);
  const pick = inPages(set?.ids ?? "");
  const detail = recordedFilter(filter);
  const change = (ids: readonly string[], receipt: string) =>
    seams.bind(discardJobs, { ids, statuses, reason, receipt, detail, now: seams.clock.databaseNow() });
  return await inBatches(seams, { limit: filter.limit, pick, change, progress });
}

const advice = "Nothing was discarded. Discard in parts: give a limit, or ids that queue.search() has found.";

/** Some more than are to be changed: of those that were picked a worker may have taken some. */
function pickRows(limit: number | undefined): number {
  return Math.min(defaults.operateRowsMax, (limit ?? defaults.operateRowsMax) + defaults.operateBatchRows);
}

const idLength = 36;

/** The ids of a text, in pages. */
function inPages(ids: string): (limit: number) => Promise<readonly string[]> {
  let from = 0;
  return async (limit) => {
    const page: string[] = [];
    for (; page.length < limit && from < ids.length; from += idLength)
      page.push(ids.slice(from, from + idLength));
    return await Promise.resolve(page);
  };
}

function checkNarrow(filter: JobFilter): void {
  const { ids, status, kind, partitionKey, fingerprint } = filter;
  if ([ids, status, kind, partitionKey, fingerprint].some((given) => given !== undefined)) return;
  throw new InvalidOptionError(
    "filter",
    filter,
    "narrower: discarding everything must be asked for by status",
  );
}

function checkedReason(reason: unknown): string | null {
  if (reason === undefined) return null;
  if (typeof reason !== "string") throw new InvalidOptionError("reason", reason, "text");
  return storableText(reason);
}
