import { discardJobs, findLastId, pickForDiscard } from "../database/statements.generated.js";
import { InvalidOptionError } from "../errors.js";
import { storableText } from "../work/json.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { changeable, inBatches, narrowed, type Progress } from "./batches.js";
import type { DiscardFilter, JobFilter } from "./job-filter.js";

/**
 * Takes jobs out of the queue for good; they stay readable in the archive. Rows in process are left alone. The set is fixed at the start by the
 * last id: what is enqueued while this runs stays.
 */
export async function discard(
  seams: QueueSeams,
  filter: DiscardFilter,
  progress?: Progress,
): Promise<number> {
  const statuses = narrowed(filter, changeable);
  checkNarrow(filter);
  const reason = checkedReason(filter.reason);
  const [newest] = await seams.database.run(seams.bind(findLastId, {}));
  if (newest === undefined) return 0;
  let after: string | null = null;
  const pick = async (limit: number): Promise<readonly string[]> => {
    const page: readonly { readonly id: string }[] = await seams.database.run(
      seams.bind(pickForDiscard, {
        after,
        last: newest.id,
        ids: filter.ids ?? null,
        statuses,
        kind: filter.kind ?? null,
        partitionKey: filter.partitionKey ?? null,
        limit,
      }),
    );
    after = page.at(-1)?.id ?? after;
    return page.map((row) => row.id);
  };
  const change = (ids: readonly string[], receipt: string) =>
    seams.bind(discardJobs, { ids, reason, receipt, now: seams.clock.databaseNow() });
  return await inBatches(seams, { limit: filter.limit, pick, change, progress });
}

function checkNarrow(filter: JobFilter): void {
  const { ids, status, kind, partitionKey } = filter;
  if ([ids, status, kind, partitionKey].some((given) => given !== undefined)) return;
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
