import type { Start } from "./messages.js";

interface Kill {
  readonly workerId: string;
  readonly atMs: number;
  readonly buckets: ReadonlySet<number>;
}

export interface Takeover {
  readonly workerId: string;
  readonly by: string;
  readonly key: string;
  readonly afterMs: number;
}

/** Measures how long the keys of a killed worker stand still: from the kill to the first job that runs elsewhere in one of its buckets. */
export class Takeovers {
  readonly #open = new Map<string, Kill>();
  readonly #onTakeover: (takeover: Takeover) => void;

  constructor(onTakeover: (takeover: Takeover) => void) {
    this.#onTakeover = onTakeover;
  }

  killed(workerId: string, buckets: readonly number[]): void {
    this.#open.set(workerId, { workerId, atMs: Date.now(), buckets: new Set(buckets) });
  }

  started(by: string, { bucket, key, atMs }: Start): void {
    for (const kill of this.#open.values()) {
      if (atMs <= kill.atMs || !kill.buckets.has(bucket)) continue;
      this.#open.delete(kill.workerId);
      this.#onTakeover({ workerId: kill.workerId, by, key, afterMs: atMs - kill.atMs });
    }
  }
}
