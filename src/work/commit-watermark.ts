import { defaults } from "../settings.js";
import type { Drawn } from "./claim-options.js";
import type { KnownKey } from "./known-keys.js";

/**
 * The seq up to which every row that will ever exist is visible. A transaction has its id before it draws a seq, so all transactions that have drawn one up to `seq` have an id below the
 * `xmax` of a snapshot taken afterwards. When the `xmin` of a later snapshot has reached that, all of them have ended.
 *
 * A key that a claim has visited is done up to the last row that was taken, but for rows that committed after the claim looked. These lie above the watermark as it was when the claim was
 * sent, so the next claim of the key begins there. That is a few milliseconds back, unless a writing transaction stays open: then more and more finished rows lie in between. Beyond
 * `lateRowsMax` of them, such claims take a share of the time only.
 */
export class CommitWatermark {
  #seq = 0n;
  #next: Drawn | null = null;
  #restUntilMs = 0;
  #isFar = false;
  /** Keys whose rows were claimed from beyond their floor, and that floor: it must not rise until it has been looked from there. Kept until these rows are done. */
  readonly #skipped = new Map<string, bigint>();

  /** Holds for every claim that is sent from now on. */
  get seq(): bigint {
    return this.#seq;
  }

  note(drawn: Drawn): void {
    if (this.#next !== null && drawn.xmin < this.#next.xmax) return;
    if (this.#next !== null) this.#seq = this.#next.seq;
    this.#next = drawn;
  }

  /** Beyond which seq to claim a known key. */
  startOf({ key, floor, doneTo }: KnownKey, nowMs: number): bigint {
    const isFar = doneTo - floor > BigInt(defaults.lateRowsMax);
    const hasRoom = this.#skipped.has(key) || this.#skipped.size < defaults.skippedKeysMax;
    if (isFar && nowMs < this.#restUntilMs && hasRoom) {
      this.#skipped.set(key, floor);
      return doneTo;
    }
    this.#skipped.delete(key);
    this.#isFar ||= isFar;
    return floor;
  }

  /** The floor of a key whose last run ended at `doneTo` and was claimed when the watermark was at `seq`. */
  floorOf(key: string, doneTo: bigint, seq: bigint): bigint {
    const floor = this.#skipped.get(key) ?? seq;
    this.forget(key);
    return floor < doneTo ? floor : doneTo;
  }

  /** No row of the key is held: what is remembered of it has its floor. */
  forget(key: string): void {
    this.#skipped.delete(key);
  }

  /** A claim of known keys took so long. */
  tookMs(ms: number, nowMs: number): void {
    if (!this.#isFar) return;
    this.#isFar = false;
    this.#restUntilMs = nowMs + (ms * (1 - defaults.lateLookShare)) / defaults.lateLookShare;
  }
}
