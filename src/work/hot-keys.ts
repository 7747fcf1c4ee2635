import { defaults } from "../settings.js";

/**
 * Keys that have brought one full run after the other. Only one row of a key runs at a time, so what limits such a key is the time from one row to the next: its
 * outcomes go in a lane of their own, beside the batches of all others, and its next run is claimed as soon as the last one is over.
 */
export class HotKeys {
  readonly #fullRuns = new Map<string, number>();
  readonly #waiting = new Set<string>();

  /** Keys that are hot and of which nothing is in hand. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /** After a pass that took at most `run` rows of each key, and these of each: which of its keys are hot. */
  note(counts: ReadonlyMap<string, number>, run: number): readonly string[] {
    const hot: string[] = [];
    for (const [key, count] of counts) {
      this.#waiting.delete(key);
      const rows = count >= run ? (this.#fullRuns.get(key) ?? 0) + count : 0;
      this.#fullRuns.delete(key);
      if (rows > 0) this.#fullRuns.set(key, rows);
      if (rows >= defaults.hotKeyRows) hot.push(key);
    }
    for (const key of this.#fullRuns.keys()) {
      if (this.#fullRuns.size <= defaults.lookAgainKeysMax) break;
      this.#fullRuns.delete(key); // The one that brought rows longest ago.
    }
    return hot;
  }

  /** Nothing of this key is in hand any more. */
  noteLineDone(key: string): void {
    const isHot = (this.#fullRuns.get(key) ?? 0) >= defaults.hotKeyRows;
    if (isHot && this.#waiting.size < defaults.hotKeysMax) this.#waiting.add(key);
  }

  askedFor(keys: Iterable<string>): void {
    for (const key of keys) this.#waiting.delete(key);
  }
}
