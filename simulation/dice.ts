/** Numbers that repeat for a seed (mulberry32). Each user of chance has dice of its own, so that one more throw here changes nothing there. */
export class Dice {
  readonly #seed: number;
  #state: number;

  constructor(seed: number) {
    this.#seed = seed >>> 0;
    this.#state = this.#seed;
  }

  /** Other dice, told apart by a name. */
  fork(name: string): Dice {
    let hash = 2_166_136_261 ^ this.#seed;
    for (const char of name) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16_777_619);
    const mixed = Math.imul(hash ^ (hash >>> 15), 2_246_822_507);
    return new Dice(mixed ^ (mixed >>> 13));
  }

  /** In [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  chance(share: number): boolean {
    return this.fraction() < share;
  }

  between(from: number, to: number): number {
    return from + (to - from) * this.fraction();
  }

  /** A whole number, both ends included. */
  whole(from: number, to: number): number {
    return Math.floor(this.between(from, to + 1));
  }

  pick<T>(list: readonly T[]): T {
    const one = list[Math.floor(this.fraction() * list.length)];
    if (one === undefined) throw new RangeError("There is nothing to pick from.");
    return one;
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => Math.floor(this.fraction() * 256));
  }
}
