import { defaults } from "../settings.js";
import { ClaimedRow } from "./claimed-row.js";

/**
 * Where a queue without order was claimed to, bucket by bucket, so that a pass need not walk again over what is finished and not yet vacuumed. Each
 * bucket is looked at from the front once a second, less often where that has become dear: a twentieth of the time, or every half minute. What appeared before a
 * position (a row that committed late, a more urgent one) is found then.
 */
export class Fronts {
  readonly #dueAtMs = new Map<number, number>();
  #usualMs: number | null = null;

  /** Forgets the positions of buckets that are due to be looked at from the front. */
  clearDue(positions: Map<number, string>, nowMs: number): void {
    for (const bucket of positions.keys()) {
      if (nowMs >= (this.#dueAtMs.get(bucket) ?? 0)) positions.delete(bucket);
    }
  }

  /** After a pass that took so long: `fronted` were looked at from the front, out of so many that are owned. */
  note(
    pass: { readonly jobs: readonly ClaimedRow[]; readonly fronted: readonly number[] },
    positions: Map<number, string>,
    cost: { readonly tookMs: number; readonly nowMs: number; readonly owned: number },
  ): void {
    for (const job of pass.jobs) {
      const microseconds = Math.round(ClaimedRow.dueMsOf(job) * 1_000);
      positions.set(job.bucket, `${job.priority}:${microseconds}:${job.seq}`);
    }
    const { tookMs, nowMs, owned } = cost;
    const each = pass.jobs.length === 0 ? null : tookMs / pass.jobs.length;
    if (pass.fronted.length === 0) {
      if (each !== null)
        this.#usualMs = this.#usualMs === null ? each : this.#usualMs + weight * (each - this.#usualMs);
      return;
    }
    const usualMs = (this.#usualMs ?? each ?? 0) * pass.jobs.length;
    const roundMs = (Math.max(0, tookMs - usualMs) / pass.fronted.length) * owned;
    const restMs = Math.min(defaults.frontMsMax, roundMs / defaults.frontShare);
    const dueAtMs = nowMs + Math.max(defaults.frontMs, restMs);
    for (const bucket of pass.fronted) this.#dueAtMs.set(bucket, dueAtMs);
  }
}

/** Averages follow the last five passes or so. */
const weight = 0.2;
