import { defaults } from "../settings.js";

/**
 * How many buckets a pass looks at while there is more than it can take. A look into a bucket costs about as much as a row, so a worker with a backlog looks into
 * few of them at a time, in turn: as many as it takes to fill a batch, found by halving and doubling.
 */
export class ClaimSpan {
  #buckets = Number.POSITIVE_INFINITY;

  /** The next in turn; `buckets` are in the order of their turns. */
  of(buckets: readonly number[], limit: number): readonly number[] {
    const least = Math.max(defaults.spanBucketsMin, Math.ceil(limit / defaults.spanRowsPerBucket));
    const span = Math.max(least, this.#buckets);
    return span >= buckets.length ? buckets : buckets.slice(0, span);
  }

  note(looked: number, isFilled: boolean): void {
    this.#buckets = isFilled ? Math.ceil(looked / 2) : looked * 2;
  }

  /** There is no backlog: the next pass looks at everything. */
  reset(): void {
    this.#buckets = Number.POSITIVE_INFINITY;
  }
}
