import { defaults } from "../settings.js";

/**
 * How many buckets a pass looks at while there is more than it can take. A look into a bucket costs about as much as a row, so a worker with a backlog looks into
 * few of them at a time, in turn: as many as it takes to fill a batch, found by halving and doubling.
 */
export class ClaimSpan {
  #buckets = Number.POSITIVE_INFINITY;

  /** The next in turn; `buckets` are in the order of their turns. Where a look is dear it need not fill the batch: it is for what would not be found otherwise. */
  of(buckets: readonly number[], limit: number, isDear = false): readonly number[] {
    const filling = isDear ? 0 : Math.ceil(limit / defaults.spanRowsPerBucket);
    const least = Math.max(defaults.spanBucketsMin, filling);
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
