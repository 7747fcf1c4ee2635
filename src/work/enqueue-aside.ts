import { isLockTimeout } from "../database/guarded-database.js";
import { EnqueueBlockedError } from "../errors.js";
import { defaults } from "../settings.js";
import { type Enqueued, type EnqueueSeams, enqueueOnce } from "./enqueue.js";
import type { NewJob } from "./new-job.js";

/** A job on its way into the database, and who waits for it. */
export interface Waiting {
  readonly job: NewJob;
  readonly resolve: (answer: Enqueued) => void;
  readonly reject: (error: unknown) => void;
  /** Receipts of sends that failed and may have committed all the same. */
  readonly receipts: string[];
  readonly sinceMs: number;
}

interface Group {
  readonly key: string;
  readonly waiting: Waiting[];
  tries: number;
}

/**
 * Where jobs wait whose key is held by somebody's open transaction, so that all others go on. Jobs of one key stay together and in order.
 * Each group is tried for an instant, later for a second, and then lets the next one try, a few at a time; who has waited for fifteen
 * seconds is told.
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
    const added: Group = { key, waiting: [...waiting], tries: 0 };
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
    group.tries += 1;
    const timeoutMs = group.tries === 1 ? defaults.enqueueLockTimeoutMs : defaults.enqueueAsideTryMs;
    const error = await send(this.#seams, batch, timeoutMs);
    if (isLockTimeout(error)) this.#tellTheLate(group, error);
    else {
      group.waiting.splice(0, batch.length);
      if (error !== null) for (const waiting of batch) await sendAlone(this.#seams, waiting);
    }
    if (group.waiting.length > 0) this.#turns.push(group);
    else this.#groups.delete(group.key);
  }

  #tellTheLate(group: Group, cause: unknown): void {
    const nowMs = this.#seams.clock.monotonicMs();
    for (const waiting of [...group.waiting]) {
      const waitedMs = Math.round(nowMs - waiting.sinceMs);
      if (waitedMs < defaults.enqueueBlockedMs) continue;
      group.waiting.splice(group.waiting.indexOf(waiting), 1);
      waiting.reject(new EnqueueBlockedError(group.key, { cause, waitedMs }));
    }
  }
}

/** So that an error reaches the caller of its row alone. */
async function sendAlone(seams: EnqueueSeams, waiting: Waiting): Promise<void> {
  const error = await send(seams, [waiting], defaults.enqueueAsideTryMs);
  if (error !== null) waiting.reject(error);
}

/** Sends a batch; answers its callers when that succeeds, else returns the error and remembers that it may have committed. */
export async function send(
  seams: EnqueueSeams,
  batch: readonly Waiting[],
  lockTimeoutMs?: number,
): Promise<unknown> {
  const receipt = seams.newId();
  try {
    const jobs = batch.map((waiting) => waiting.job);
    const earlier = batch.map((waiting) => waiting.receipts);
    const answers = await enqueueOnce(seams, jobs, { receipt, lockTimeoutMs, earlier });
    for (const [i, waiting] of batch.entries()) {
      waiting.resolve(answers[i] ?? { id: waiting.job.id, duplicate: false });
    }
    return null;
  } catch (error) {
    for (const waiting of batch) waiting.receipts.push(receipt);
    return error;
  }
}
