/** So many at a time; the others wait in the order in which they came. */
export class Permits {
  readonly #waiting = new Set<() => void>();
  readonly #waitMs: number;
  #left: number;

  constructor(count: number, waitMs: number) {
    this.#left = count;
    this.#waitMs = waitMs;
  }

  /** False when none came free in time. */
  async take(): Promise<boolean> {
    if (this.#left > 0) {
      this.#left--;
      return true;
    }
    return await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(go);
        resolve(false);
      }, this.#waitMs);
      const go = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      this.#waiting.add(go);
    });
  }

  give(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#left++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
