import type { Clock } from "../seams/clock.js";

/** A point in time that several waits share, so that together they take no longer than the first alone may. */
export class Deadline {
  readonly #clock: Clock;
  readonly #atMs: number;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#atMs = clock.monotonicMs() + limitMs;
  }

  get leftMs(): number {
    return Math.max(0, this.#atMs - this.#clock.monotonicMs());
  }

  /** True when the work ended in time, also by an error. What comes too late goes on, and nobody hears of it. */
  async wait(work: Promise<unknown>): Promise<boolean> {
    const over = new AbortController();
    let isOver = false;
    const end = (): void => {
      isOver = true;
      over.abort();
    };
    work.then(end, end);
    await this.#clock.sleep(this.leftMs, over.signal);
    return isOver;
  }
}
