import { drawPlace, pickForRedrive, redriveJobs } from "../database/statements.generated.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { inBatches, narrowed, type Progress } from "./batches.js";
import type { JobFilter } from "./job-filter.js";
import { readWhole } from "./read-whole.js";
import { recordedFilter } from "./recorded-filter.js";

const firstId = "00000000-0000-0000-0000-000000000000";
const advice =
  "What was redriven before it stays so. Go on in parts: give ids that queue.search() has found.";

/**
 * Gives dead letters another round, oldest place first; rows in backoff become due now. Returns how many. The set is fixed at the start by a
 * place in the queue: a job that fails again while this runs is not redriven again.
 */
export async function retry(seams: QueueSeams, filter: JobFilter, progress?: Progress): Promise<number> {
  const statuses = narrowed(filter, ["dead_letter"]);
  const finishedOnly =
    statuses.every((status) => status === "dead_letter") && seams.settings.onDeadLetter === "continue";
  const [drawn] = await seams.database.run(seams.bind(drawPlace, {}));
  const below = BigInt(drawn?.seq ?? 0);
  let after = { seq: -(2n ** 63n), id: firstId };
  const pick = async (limit: number): Promise<readonly string[]> => {
    const query = seams.bind(pickForRedrive, {
      afterSeq: after.seq,
      afterId: after.id,
      below,
      ids: filter.ids ?? null,
      statuses,
      finishedOnly,
      fingerprint: filter.fingerprint ?? null,
      now: seams.clock.databaseNow(),
      kind: filter.kind ?? null,
      partitionKey: filter.partitionKey ?? null,
      limit,
    });
    const page = await readWhole(query, (one) => seams.database.run(one), advice);
    const last = page.at(-1);
    if (last !== undefined) after = { seq: BigInt(last.seq), id: last.id };
    return page.map((row) => row.id);
  };
  const detail = recordedFilter(filter);
  const change = (ids: readonly string[], receipt: string) =>
    seams.bind(redriveJobs, { ids, statuses, receipt, detail, now: seams.clock.databaseNow() });
  return await inBatches(seams, { limit: filter.limit, pick, change, progress });
}
