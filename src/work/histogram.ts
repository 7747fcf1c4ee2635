/**
 * Counts values by size. A value belongs to the first bound that is not below it; what is above all bounds is counted last. Recording takes a search over the
 * bounds and allocates nothing, so it may stand on a job's path.
 */
export class Histogram {
  readonly bounds: readonly number[];
  readonly #counts: number[];
  #count = 0;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  get count(): number {
    return this.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  /** One for each bound, and one for what is above all. */
  get counts(): readonly number[] {
    return this.#counts;
  }

  record(value: number): void {
    const at = this.#indexOf(value);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#count++;
    this.#sum += value;
  }

  /** Adds what another has counted, or only a part of it: places and counts. */
  add(counts: Iterable<readonly [at: number, count: number]>, sum: number): void {
    for (const [at, count] of counts) {
      this.#counts[at] = (this.#counts[at] ?? 0) + count;
      this.#count += count;
    }
    this.#sum += sum;
  }

  /** What was counted since a copy of `counts` was taken, as places and counts. */
  since(before: readonly number[]): readonly (readonly [at: number, count: number])[] {
    return this.#counts.flatMap((count, at) => {
      const more = count - (before[at] ?? 0);
      return more > 0 ? [[at, more] as const] : [];
    });
  }

  /** The value that a share of all values is not above, interpolated between two bounds; null when nothing was counted. */
  percentile(share: number): number | null {
    if (this.#count === 0) return null;
    const rank = Math.max(1, share * this.#count);
    let below = 0;
    for (const [at, count] of this.#counts.entries()) {
      if (count > 0 && below + count >= rank) return this.#within(at, (rank - below) / count);
      below += count;
    }
    return this.bounds.at(-1) ?? null;
  }

  #within(at: number, share: number): number {
    const upper = this.bounds[at] ?? this.bounds.at(-1) ?? 0;
    const lower = at === 0 ? 0 : (this.bounds[at - 1] ?? upper);
    return lower + share * (upper - lower);
  }

  #indexOf(value: number): number {
    let low = 0;
    let high = this.bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.bounds[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** From an eighth of a millisecond to 17 minutes, four to a doubling: a percentile is off by a fifth at most. */
export const durationBoundsMs: readonly number[] = Object.freeze(
  Array.from({ length: 93 }, (_, n) => 0.125 * 2 ** (n / 4)),
);

/** Rows of a claim. */
export const rowBounds: readonly number[] = Object.freeze([
  0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000,
]);
