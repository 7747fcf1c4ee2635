import { LeaseLostError } from "../errors.js";
import { ClaimedRow, type Holder } from "./claimed-row.js";
import type { JobTransaction } from "./job-transaction.js";
import type { Outcome } from "./outcome.js";

/** How an attempt ended, as far as the worker is concerned. */
export type Ending =
  | { readonly is: "outcome"; readonly outcome: Outcome }
  /** job.transaction has completed it. */
  | { readonly is: "settled" }
  /** The lease is lost: nothing of the attempt is settled. */
  | { readonly is: "lost" };

export const settled: Ending = Object.freeze({ is: "settled" });
export const lost: Ending = Object.freeze({ is: "lost" });

/**
 * A row in the worker's hands, from its claim to its settle. `deadlineMs` is until when the lease may be trusted, by this machine's monotonic
 * clock, counted from the start of the call that wrote it.
 */
export class HeldJob implements Holder {
  readonly job: ClaimedRow;
  /** The turn of its bucket in which it was claimed. */
  readonly turn: bigint;
  /** About the size of its payload and headers as text: its share of what its claim brought. */
  readonly bytes: number;
  /** The commit watermark when its claim was sent. */
  readonly watermark: bigint;
  deadlineMs: number;
  /** When the handler's time is up; null while it does not run. */
  timeoutAtMs: number | null = null;
  /** When the slot is taken back from a handler that ignores its signal. */
  giveUpAtMs: number | null = null;
  startedAtMs = 0;
  endedAtMs = 0;
  /** Its handler has ended; its outcome is being written. */
  isEnding = false;
  isSettled = false;
  /** It has left the queue, so that its key may go on. */
  isDone = false;
  isGivenUp = false;
  /** A renewal did not find it while its transaction was open. */
  isSuspected = false;
  isLost = false;
  #abortReason: Error | null = null;
  #controller: AbortController | null = null;
  #end: ((ending: Ending) => void) | null = null;
  #transactions: JobTransaction<unknown>[] | null = null;

  constructor(job: ClaimedRow, deadlineMs: number, claim: Pick<HeldJob, "turn" | "bytes" | "watermark">) {
    this.job = job;
    this.turn = claim.turn;
    this.bytes = claim.bytes;
    this.watermark = claim.watermark;
    this.deadlineMs = deadlineMs;
    ClaimedRow.attach(job, this);
  }

  /** True while its lease is ours to renew: not once its outcome is written or being written, nor once it is lost. */
  get isRenewable(): boolean {
    return !this.isEnding && !this.isSettled && !this.isLost;
  }

  /** Those of its handler; null for the many that have none. */
  get transactions(): readonly JobTransaction<unknown>[] | null {
    return this.#transactions;
  }

  get isInTransaction(): boolean {
    return this.#transactions?.some((transaction) => transaction.isOpen) === true;
  }

  noteTransaction(transaction: JobTransaction<unknown>): void {
    this.#transactions ??= [];
    this.#transactions.push(transaction);
  }

  get abortReason(): Error | null {
    return this.#abortReason;
  }

  abort(reason: Error): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  lose(): void {
    this.isLost = true;
    this.abort(new LeaseLostError(this.job.id, this.job.fenceToken));
  }

  /** Calls `end` with what the attempt comes to, or with what give() says before that. */
  watch(attempt: Ending | Promise<Ending>, end: (ending: Ending) => void): void {
    if (!(attempt instanceof Promise)) {
      end(attempt);
      return;
    }
    this.#end = end;
    void attempt.then((ending) => {
      this.#end?.(ending);
      this.#end = null;
    });
  }

  /** Ends the attempt from outside: its handler does not come back, and what it says later counts for nothing. */
  give(ending: Ending): void {
    this.isGivenUp = true;
    const end = this.#end;
    this.#end = null;
    end?.(ending);
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }
}
