interface Entry {
  readonly atMs: number;
  /** Entries of one moment run in the order in which they were made. */
  readonly nth: number;
  run(): void;
}

/** Virtual time: what is to happen, in the order of its time. A binary heap. */
export class Timeline {
  readonly #entries: Entry[] = [];
  #nowMs = 0;
  #made = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  at(atMs: number, run: () => void): void {
    const entry = { atMs: Math.max(atMs, this.#nowMs), nth: this.#made++, run };
    const entries = this.#entries;
    let place = entries.push(entry) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = entries[parent];
      if (above === undefined || !isBefore(entry, above)) break;
      entries[place] = above;
      place = parent;
    }
    entries[place] = entry;
  }

  /** Runs everything up to this moment. What it makes for later stays. */
  runUntil(endMs: number): void {
    for (let first = this.#entries[0]; first !== undefined && first.atMs <= endMs; first = this.#entries[0]) {
      this.#removeFirst();
      this.#nowMs = first.atMs;
      first.run();
    }
    this.#nowMs = endMs;
  }

  #removeFirst(): void {
    const entries = this.#entries;
    const last = entries.pop();
    if (last === undefined || entries.length === 0) return;
    let place = 0;
    for (let child = 1; child < entries.length; child = 2 * place + 1) {
      const left = entries[child];
      const right = entries[child + 1];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const next = isRight ? right : left;
      if (next === undefined || !isBefore(next, last)) break;
      entries[place] = next;
      place = isRight ? child + 1 : child;
    }
    entries[place] = last;
  }
}

function isBefore(left: Entry, right: Entry): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.nth < right.nth);
}
