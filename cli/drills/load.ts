import { setTimeout as sleep } from "node:timers/promises";
import type { JobInput, Queue } from "../../src/index.js";
import { limits } from "./limits.js";

type Job = JobInput<Record<string, unknown>>;

export interface LoadShape {
  readonly perSecond: number;
  /** No more are added while so many wait or run, so that an incident that is held open does not grow for ever. */
  readonly waitingMax: number;
  make(n: number): Job;
}

/** Adds jobs at a steady rate until it is stopped. */
export class Load {
  readonly #queue: Queue;
  readonly #shape: LoadShape;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #added = 0;
  #failure: unknown = null;

  constructor(queue: Queue, shape: LoadShape) {
    this.#queue = queue;
    this.#shape = shape;
    this.#ended = this.#run().catch((error: unknown) => {
      this.#failure = error;
    });
  }

  get added(): number {
    return this.#added;
  }

  /** What ended it, if anything did. */
  get failure(): unknown {
    return this.#failure;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { perSecond, waitingMax, make } = this.#shape;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const { pending, processing } = await this.#queue.stats();
      const room = waitingMax - pending - processing;
      const count = Math.min(Math.ceil((perSecond * limits.loadTickMs) / 1_000), room);
      if (count > 0) await this.#queue.enqueueMany(Array.from({ length: count }, () => make(this.#added++)));
      await sleep(limits.loadTickMs, undefined, { signal }).catch(() => {}); // It was stopped.
    }
  }
}
