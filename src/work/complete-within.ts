import type { SettleRow } from "../database/rows.js";
import { AlreadyCompletedError, LeaseLostError } from "../errors.js";
import type { OpenTx } from "../seams/database.js";
import { asFunction } from "../settings.js";
import type { ClaimedJob } from "./job.js";
import { complete } from "./outcome.js";
import type { QueueSeams } from "./queue-seams.js";
import { announce, settledQuery, settleQuery } from "./settle.js";

/**
 * job.transaction: the user's writes and, as the last statement, the completion, in one commit. When the row is no longer held the
 * transaction rolls back, so an effect written through it happens exactly once, whatever crashed or woke up late.
 */
export function completeWithin(seams: QueueSeams, job: ClaimedJob): ClaimedJob["transaction"] {
  return async <T>(work: (tx: OpenTx) => Promise<T>): Promise<T> => {
    asFunction("work", work);
    const settlement = { job, outcome: complete };
    let settled: readonly SettleRow[] = [];
    const result = await seams.database.transaction(async (tx) => {
      const written = await work(tx);
      settled = await tx.run(settleQuery(seams, [settlement]));
      if (settled[0]?.held !== true) {
        const before = await tx.run(settledQuery(seams, [settlement]));
        if (before.length > 0) throw new AlreadyCompletedError(job.id);
        announce(seams, [settlement], settled);
        throw new LeaseLostError(job.id, job.fenceToken);
      }
      return written;
    });
    announce(seams, [settlement], settled);
    return result;
  };
}
