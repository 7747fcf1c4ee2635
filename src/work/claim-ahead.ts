import { defaults } from "../settings.js";
import type { Dispatcher } from "./dispatch.js";

/** What a claim may take now. */
export interface Appetite {
  /** Rows at most; 0 when there is no need to claim. */
  readonly limit: number;
  readonly run: number;
  readonly retries: number;
  readonly suspects: number;
  /** Bytes of payloads and headers at most, but for the first row. */
  readonly bytes: number;
}

/** Averages follow the last ten rows or so. */
const weight = 0.1;
/** What a claim takes at least. */
const claimMs = 5;
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
  readonly #rowsMax: number;
  #handleMs: number | null = null;
  #rowMs = 0;
  #runRows: number = defaults.runRows;

  /** `batch`: rows that a claim takes at most; null for no such limit. */
  constructor(dispatcher: Dispatcher, concurrency: number, batch: number | null) {
    this.#dispatcher = dispatcher;
    this.#concurrency = concurrency;
    this.#rowsMax = batch ?? Number.POSITIVE_INFINITY;
  }

  /** Rows that should be ready and waiting. */
  get rows(): number {
    return Math.min(defaults.claimRowsMax, this.#rowsMax, this.#rowsInTime);
  }

  /** What the handlers start in a quarter of a second. */
  get #rowsInTime(): number {
    if (this.#handleMs === null) return Math.max(1, defaults.claimLimit - this.#concurrency);
    return Math.ceil((this.#concurrency * defaults.claimAheadMs) / Math.max(leastMs, this.#handleMs));
  }

  /** How long a handler took, and how long its row from the start to its settle. */
  took(handleMs: number, rowMs: number): void {
    this.#handleMs =
      this.#handleMs === null ? handleMs : this.#handleMs + weight * (handleMs - this.#handleMs);
    this.#rowMs += weight * (rowMs - this.#rowMs);
  }

  /** Lines that are ready, but for those that will have been started before a claim comes back. */
  get #waitingLines(): number {
    const { readyLines } = this.#dispatcher;
    if (this.#handleMs === null) return readyLines;
    const soon = Math.floor((this.#concurrency * claimMs) / Math.max(leastMs, this.#handleMs));
    return Math.max(0, readyLines - soon);
  }

  /** True when there is room worth a claim. */
  isHungry(): boolean {
    const { freeSlots, reservedFree, ending, bytes } = this.#dispatcher;
    // Handlers are faster than settles: more rows in hand would only be older when their turn comes.
    if (ending >= defaults.endingRowsMax || bytes >= defaults.inHandBytesMax) return false;
    const waiting = this.#waitingLines;
    return reservedFree > 0 || freeSlots > waiting || waiting <= this.rows / 2;
  }

  /** While claims for so many rows are under way. */
  appetite(coming: number): Appetite {
    const { freeSlots, reservedFree, ending, inHand } = this.#dispatcher;
    const wanted = freeSlots + this.#rowsInTime - this.#waitingLines;
    const room = Math.min(wanted, defaults.inHandRowsMax - inHand.size) - coming;
    const limit = Math.max(reservedFree, Math.min(room, Math.max(defaults.claimRowsMax, freeSlots)));
    const most = Math.min(limit, this.#rowsMax);
    return {
      limit: this.isHungry() ? Math.max(0, most) : 0,
      run: this.#run(),
      retries: Math.max(0, freeSlots - ending, reservedFree),
      suspects: this.#dispatcher.hasSuspect() ? 0 : defaults.suspectsMax,
      bytes: this.#bytes(),
    };
  }

  /** For so many hot keys: long runs, whatever else is in hand, because only one row of each runs at a time. */
  appetiteForHot(keys: number): Appetite {
    const inTime = Math.ceil(defaults.claimAheadMs / Math.max(1, this.#handleMs ?? 0));
    const run = Math.min(defaults.runMax, inTime);
    return {
      limit: Math.min(run * keys, this.#rowsMax),
      run,
      retries: keys,
      suspects: this.#dispatcher.hasSuspect() ? 0 : defaults.suspectsMax,
      bytes: this.#bytes(),
    };
  }

  #bytes(): number {
    return Math.max(1, Math.min(defaults.claimBytesMax, defaults.inHandBytesMax - this.#dispatcher.bytes));
  }

  /** A pass was filled, so there are more keys than fit: shorter runs of more of them. One that was not takes more of each. */
  noteFilled(isFilled: boolean): void {
    this.#runRows = isFilled
      ? Math.max(defaults.runRowsMin, Math.ceil(this.#runRows / 2))
      : Math.min(defaults.runMax, this.#runRows * 2);
  }

  /** No longer than what is over in a quarter of a second. */
  #run(): number {
    const inTime = Math.ceil(defaults.claimAheadMs / Math.max(1, this.#rowMs));
    return Math.max(1, Math.min(this.#runRows, inTime));
  }
}
