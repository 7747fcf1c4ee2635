import { defaults } from "../settings.js";

/** When each bucket is to be looked at in a way that may be dear: at a steady pace, less often where that would take more than its share of the time, and not too many at once. */
export class LookSchedule {
  readonly #everyMsMax: number;
  readonly #dueAtMs = new Map<number, number>();
  #eachMs = 0;
  #restMs = 0;

  constructor(everyMsMax: number) {
    this.#everyMsMax = everyMsMax;
  }

  /** True when it can't be done at the steady pace. */
  get isDear(): boolean {
    return this.#restMs > defaults.frontMs;
  }

  /** Those that are due, the longest overdue first, as far as a pass has time for them. */
  due(buckets: readonly number[], nowMs: number): readonly number[] {
    const most = Math.max(1, Math.floor(defaults.frontMsPerPass / this.#eachMs));
    const due = buckets.filter((bucket) => nowMs >= this.#dueAt(bucket));
    return due.length <= most
      ? due
      : due.sort((left, right) => this.#dueAt(left) - this.#dueAt(right)).slice(0, most);
  }

  /** These were looked at, out of so many that are owned, and it took so much longer than other passes. A few say nothing about all. */
  note(
    buckets: readonly number[],
    cost: { readonly moreMs: number; readonly nowMs: number; readonly owned: number },
  ): void {
    if (buckets.length >= Math.min(defaults.spanBucketsMin, cost.owned)) {
      this.#eachMs = cost.moreMs / buckets.length;
      this.#restMs = Math.min(this.#everyMsMax, (this.#eachMs * cost.owned) / defaults.frontShare);
    }
    this.putOff(buckets, cost.nowMs);
  }

  /** These have been seen now, in whatever way. */
  putOff(buckets: readonly number[], nowMs: number): void {
    const dueAtMs = nowMs + Math.max(defaults.frontMs, this.#restMs);
    for (const bucket of buckets) this.#dueAtMs.set(bucket, dueAtMs);
  }

  /** All are due. */
  reset(): void {
    this.#dueAtMs.clear();
  }

  #dueAt(bucket: number): number {
    return this.#dueAtMs.get(bucket) ?? 0;
  }
}
