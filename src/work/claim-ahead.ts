import { defaults } from "../settings.js";
import type { Dispatcher } from "./dispatch.js";

/** What a claim may take now. */
export interface Appetite {
  /** Rows at most; 0 when there is no need to claim. */
  readonly limit: number;
  readonly run: number;
  readonly retries: number;
  readonly suspects: number;
}

/** Averages follow the last few passes. */
const weight = 0.3;
const forgetAfterMs = 1_000;

/**
 * How far to claim ahead: what the handlers start in a quarter of a second, so that they never wait for a claim and no row waits long in hand. Starts
 * from a batch of 25 and follows the measured rate up to 500. Rows of one key at a time are bounded the same way.
 */
export class ClaimAhead {
  readonly #dispatcher: Dispatcher;
  readonly #concurrency: number;
  #perMs: number | null = null;
  #rowMs = 0;
  #lastAtMs = 0;
  #lastStarted = 0;

  constructor(dispatcher: Dispatcher, concurrency: number) {
    this.#dispatcher = dispatcher;
    this.#concurrency = concurrency;
  }

  /** Rows that should be ready and waiting. */
  get rows(): number {
    if (this.#perMs === null) return Math.max(1, defaults.claimLimit - this.#concurrency);
    return Math.min(defaults.claimRowsMax, Math.max(1, Math.ceil(this.#perMs * defaults.claimAheadMs)));
  }

  /** Called at each pass. */
  measure(nowMs: number): void {
    const { started } = this.#dispatcher;
    const elapsedMs = nowMs - this.#lastAtMs;
    if (elapsedMs > forgetAfterMs && this.#dispatcher.inHand.size === 0) this.#perMs = null;
    else if (elapsedMs >= 1) {
      const perMs = (started - this.#lastStarted) / elapsedMs;
      this.#perMs = this.#perMs === null ? perMs : this.#perMs + weight * (perMs - this.#perMs);
    } else return;
    this.#lastAtMs = nowMs;
    this.#lastStarted = started;
  }

  /** How long a row took from its start to its settle. */
  took(ms: number): void {
    this.#rowMs += weight * (ms - this.#rowMs);
  }

  /** True when there is room worth a claim. */
  isHungry(): boolean {
    const { freeSlots, readyLines, reservedFree } = this.#dispatcher;
    return reservedFree > 0 || freeSlots > readyLines || readyLines <= this.rows / 2;
  }

  appetite(): Appetite {
    const { freeSlots, readyLines, reservedFree, ending, inHand } = this.#dispatcher;
    const room = Math.min(freeSlots + this.rows - readyLines, defaults.inHandRowsMax - inHand.size);
    const limit = Math.max(reservedFree, Math.min(room, Math.max(defaults.claimRowsMax, freeSlots)));
    return {
      limit: this.isHungry() ? Math.max(0, limit) : 0,
      run: Math.max(
        1,
        Math.min(defaults.runMax, Math.ceil(defaults.claimAheadMs / Math.max(1, this.#rowMs))),
      ),
      retries: Math.max(0, freeSlots - ending, reservedFree),
      suspects: this.#dispatcher.hasSuspect() ? 0 : defaults.suspectsMax,
    };
  }
}
