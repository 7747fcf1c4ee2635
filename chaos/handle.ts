import { effectSql } from "../simulation/engine/recorder.js";
import { deadLetter, type Leasehold, retryAfter } from "../src/index.js";
import type { Journal } from "./journal.js";
import { type ChaosJob, schema } from "./settings.js";

/** What this needs of a job, which a worker and a claim by hand both have. */
interface Work {
  readonly id: string;
  readonly partitionKey: string;
  readonly fenceToken: bigint;
  readonly attempt: number;
  readonly payload: ChaosJob;
  transaction<T>(
    work: (tx: { query(text: string, values: unknown[]): Promise<unknown> }) => Promise<T>,
  ): Promise<T>;
}

/** Does what a job says, and writes down that it started and ended. Returns whether its transaction has completed it. */
export async function handle(
  { lh, journal, process }: { readonly lh: Leasehold; readonly journal: Journal; readonly process: string },
  job: Work,
): Promise<boolean> {
  const { id, partitionKey: key, fenceToken: token, payload } = job;
  const about = { process, id, key, token };
  journal.note({ is: "started", ...about });
  try {
    if (payload.workMs > 0) await new Promise((resolve) => setTimeout(resolve, payload.workMs));
    if (payload.isDoomed) throw deadLetter("told to give up");
    if (job.attempt <= payload.failures) throw retryAfter(50, "told to fail");
    const values = [payload.effect, id, key, String(token)];
    if (payload.effect === "once") await job.transaction((tx) => tx.query(effectSql(schema), values));
    if (payload.effect === "fenced") {
      await lh.transaction(async (tx) => {
        await lh.fence(tx, key, token);
        await tx.query(effectSql(schema), values);
      });
    }
    return payload.effect === "once";
  } finally {
    journal.note({ is: "ended", ...about });
  }
}
