import { LeaseLostError } from "../errors.js";
import type { Tx } from "../seams/database.js";
import type { ClaimedJob } from "./job.js";
import type { Outcome } from "./outcome.js";

/** A job as its handler sees it. */
export interface WorkingJob<K extends string = string, P = unknown> extends ClaimedJob<K, P> {
  /** Aborts when the lease is lost, the handler's time is up, or the worker can't wait any longer; its reason is the error that says so. */
  readonly signal: AbortSignal;
}

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
export class HeldJob {
  readonly job: ClaimedJob;
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
  isGivenUp = false;
  isInTransaction = false;
  /** A renewal did not find it while its transaction was open. */
  isSuspected = false;
  isLost = false;
  #abortReason: Error | null = null;
  #controller: AbortController | null = null;
  #end: ((ending: Ending) => void) | null = null;

  constructor(job: ClaimedJob, deadlineMs: number) {
    this.job = job;
    this.deadlineMs = deadlineMs;
  }

  /** True while its lease is ours to renew: not once its outcome is written or being written, nor once it is lost. */
  get isRenewable(): boolean {
    return !this.isEnding && !this.isSettled && !this.isLost;
  }

  get abortReason(): Error | null {
    return this.#abortReason;
  }

  /** What the handler gets. The signal is made when somebody asks for it: most never do, and it costs more than the rest. */
  toWorkingJob(): WorkingJob {
    const held = this;
    return Object.freeze({
      ...this.job,
      get signal() {
        return held.#signal();
      },
      transaction: async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
        if (held.isLost) throw new LeaseLostError(held.job.id, held.job.fenceToken);
        held.isInTransaction = true;
        try {
          const result = await held.job.transaction(work);
          held.isSettled = true;
          return result;
        } finally {
          held.isInTransaction = false;
        }
      },
    });
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

  /** Resolves with what the attempt comes to, or with what give() says before that. */
  whenEnded(attempt: Promise<Ending>): Promise<Ending> {
    return new Promise((resolve) => {
      this.#end = resolve;
      attempt.then(resolve, resolve);
    });
  }

  /** Ends the attempt from outside: its handler does not come back, and what it says later counts for nothing. */
  give(ending: Ending): void {
    this.isGivenUp = true;
    this.#end?.(ending);
  }

  #signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }
}
