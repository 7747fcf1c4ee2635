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

/** Averages follow the last ten rows or so. */
const weight = 0.1;
/** What counts as no time at all. */
const leastMs = 0.05;

/**
 * How far to claim ahead: what the handlers start in a quarter of a second, so that they never wait for a claim and no row waits long in hand. Starts
 * from a batch of 25 and follows the time that handlers take, up to 500. Rows of one key at a time are bounded the same way, by the time from the start of
 * a row to its settle.
 */
export class ClaimAhead {
  readonly #dispatcher: Dispatcher;
  readonly #concurrency: number;
  #handleMs: number | null = null;
  #rowMs = 0;

  constructor(dispatcher: Dispatcher, concurrency: number) {
    this.#dispatcher = dispatcher;
    this.#concurrency = concurrency;
  }

  /** Rows that should be ready and waiting. */
  get rows(): number {
    if (this.#handleMs === null) return Math.max(1, defaults.claimLimit - this.#concurrency);
    const rows = Math.ceil((this.#concurrency * defaults.claimAheadMs) / Math.max(leastMs, this.#handleMs));
    return Math.min(defaults.claimRowsMax, rows);
  }

  /** How long a handler took, and how long its row from the start to its settle. */
  took(handleMs: number, rowMs: number): void {
    this.#handleMs =
      this.#handleMs === null ? handleMs : this.#handleMs + weight * (handleMs - this.#handleMs);
    this.#rowMs += weight * (rowMs - this.#rowMs);
  }

  /** True when there is room worth a claim. */
  isHungry(): boolean {
    const { freeSlots, readyLines, reservedFree, ending } = this.#dispatcher;
    // Handlers are faster than settles: more rows in hand would only be older when their turn comes.
    if (ending >= defaults.endingRowsMax) return false;
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
