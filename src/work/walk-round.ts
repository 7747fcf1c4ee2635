import { defaults } from "../settings.js";
import type { ClaimPass } from "./claim.js";

/**
 * A pass visits a bounded number of keys. Where so many are blocked that it finds nothing to take and has not seen them all, the next passes go on at
 * once where it stopped, until all have been seen; only then there is nothing to do until the first of them falls due. Rounds take a small part of the time.
 */
export class WalkRound {
  #open: Set<number> | null = null;
  #startedAtMs = 0;
  #dueAtMs = Number.POSITIVE_INFINITY;

  /** After a full pass that took nothing: 0 while keys are unseen, else how long the next round has to wait, and when the first key falls due. */
  note(
    pass: ClaimPass,
    nowMs: number,
  ): { readonly isDone: boolean; readonly restMs: number; readonly dueInMs: number } {
    if (this.#open === null) {
      this.#open = new Set(pass.stops.keys());
      this.#startedAtMs = nowMs;
      this.#dueAtMs = Number.POSITIVE_INFINITY;
    }
    if (pass.dueInMs !== null) this.#dueAtMs = Math.min(this.#dueAtMs, nowMs + pass.dueInMs);
    for (const bucket of this.#open) if (pass.stops.get(bucket) !== false) this.#open.delete(bucket);
    const isDone = this.#open.size === 0 || this.#dueAtMs <= nowMs;
    if (isDone) this.#open = null;
    const restMs = ((nowMs - this.#startedAtMs) * (1 - defaults.roundShare)) / defaults.roundShare;
    return { isDone, restMs, dueInMs: this.#dueAtMs - nowMs };
  }

  /** Something was found, or somebody woke us: the next empty pass begins a new round. */
  reset(): void {
    this.#open = null;
  }
}
