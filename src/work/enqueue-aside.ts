import { EnqueueBlockedError } from "../errors.js";
import { defaults } from "../settings.js";
import { type Enqueued, type EnqueueSeams, enqueueOnce, isLockTimeout } from "./enqueue.js";
import type { NewJob } from "./new-job.js";

/** A job on its way into the database, and who waits for it. */
export interface Waiting {
  readonly job: NewJob;
  readonly resolve: (answer: Enqueued) => void;
  readonly reject: (error: unknown) => void;
}

interface Group {
  readonly key: string;
  readonly waiting: Waiting[];
  readonly sinceMs: number;
}

/**
 * Where jobs wait whose key is held by somebody's open transaction, so that all others go on. Jobs of one key stay together and in order.
 * Each group is tried for a second and then lets the next one try, a few at a time; after fifteen seconds its callers are told.
 */
export class EnqueueAside {
  readonly #seams: EnqueueSeams;
  readonly #groups = new Map<string, Group>();
  readonly #turns: Group[] = [];
  #trying = 0;

  constructor(seams: EnqueueSeams) {
    this.#seams = seams;
  }

  /** Whether jobs of this key are waiting here; then later ones belong behind them. */
  holds(key: string): boolean {
    return this.#groups.has(key);
  }

  add(key: string, waiting: readonly Waiting[]): void {
    const group = this.#groups.get(key);
    if (group !== undefined) {
      group.waiting.push(...waiting);
      return;
    }
    const added: Group = { key, waiting: [...waiting], sinceMs: this.#seams.clock.monotonicMs() };
    this.#groups.set(key, added);
    this.#turns.push(added);
    this.#next();
  }

  #next(): void {
    while (this.#trying < defaults.enqueueAsideMax) {
      const group = this.#turns.shift();
      if (group === undefined) return;
      this.#trying += 1;
      void this.#try(group).finally(() => {
        this.#trying -= 1;
        this.#next();
      });
    }
  }

  async #try(group: Group): Promise<void> {
    const batch = group.waiting.slice(0, defaults.enqueueBatchRowsMax);
    const error = await send(this.#seams, batch, defaults.enqueueAsideTryMs);
    const waitedMs = Math.round(this.#seams.clock.monotonicMs() - group.sinceMs);
    if (isLockTimeout(error) && waitedMs < defaults.enqueueBlockedMs) {
      this.#turns.push(group);
      return;
    }
    if (error !== null) {
      const told = isLockTimeout(error)
        ? new EnqueueBlockedError(group.key, { cause: error, waitedMs })
        : error;
      for (const waiting of batch) waiting.reject(told);
    }
    group.waiting.splice(0, batch.length);
    if (group.waiting.length > 0) this.#turns.push(group);
    else this.#groups.delete(group.key);
  }
}

/** Sends a batch; answers its callers when that succeeds, else returns the error. */
export async function send(
  seams: EnqueueSeams,
  batch: readonly Waiting[],
  lockTimeoutMs?: number,
): Promise<unknown> {
  try {
    const jobs = batch.map((waiting) => waiting.job);
    const answers = await enqueueOnce(seams, jobs, lockTimeoutMs);
    for (const [i, waiting] of batch.entries())
      waiting.resolve(answers[i] ?? { id: waiting.job.id, duplicate: false });
    return null;
  } catch (error) {
    return error;
  }
}
