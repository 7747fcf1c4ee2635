import type { ClaimedJob } from "./job.js";
import type { Outcome } from "./outcome.js";

export interface Settlement {
  readonly job: Pick<ClaimedJob, "id" | "workerId" | "fenceToken">;
  readonly outcome: Outcome;
}

export interface SettleAnswer {
  readonly held: boolean;
  /** What the row is now; null when it was not held, or when that was answered to an earlier try. */
  readonly status: string | null;
}

/** How a settle is sent. A try whose answer was lost (`mayHaveRun`) may have settled what a later one no longer finds. */
export interface Tries {
  readonly mayHaveRun: boolean;
  readonly triesMax: number;
}

/** One row under one token: what a settlement is about. */
export function leaseOf(id: string, token: bigint | string): string {
  return `${id} ${token}`;
}
