import { DatabaseRefusedError, EnqueueBlockedError } from "../errors.js";
import { defaults } from "../settings.js";
import { type Enqueued, type EnqueueSeams, enqueueOnce } from "./enqueue.js";
import type { NewJob } from "./new-job.js";

interface Waiting {
  readonly job: NewJob;
  readonly resolve: (answer: Enqueued) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Natural batching: one insert is under way at a time, and whatever accumulates meanwhile goes in the next one. No timer and no
 * added latency: the first call on an idle lane leaves at once. Each promise settles after its own row has committed.
 * When a batch is refused it is split, so that an error reaches the caller of its row alone.
 */
export class EnqueueLane {
  readonly #seams: EnqueueSeams;
  readonly #hasKeys: boolean;
  #waiting: Waiting[] = [];
  #isBusy = false;
  readonly #aside: Promise<void>[] = [];
  #asideCount = 0;

  /** Jobs with idempotency keys have a lane of their own: they may have to wait for somebody's open transaction. */
  constructor(seams: EnqueueSeams, hasKeys: boolean) {
    this.#seams = seams;
    this.#hasKeys = hasKeys;
  }

  add(job: NewJob): Promise<Enqueued> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject });
      if (!this.#isBusy) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isBusy = true;
    await Promise.resolve(); // Calls made in the same tick go together.
    while (this.#waiting.length > 0) await this.#send(this.#takeBatch());
    this.#isBusy = false;
  }

  #takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { job } of this.#waiting) {
      bytes += job.json.length;
      if (count > 0 && (count >= defaults.enqueueBatchRowsMax || bytes > defaults.enqueueBatchBytesMax))
        break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #send(batch: readonly Waiting[], timeoutMs: number = defaults.enqueueLockTimeoutMs): Promise<void> {
    try {
      const jobs = batch.map((waiting) => waiting.job);
      const answers = await enqueueOnce(this.#seams, jobs, this.#hasKeys ? timeoutMs : undefined);
      for (const [i, waiting] of batch.entries()) settle(waiting, answers[i]);
    } catch (error) {
      if (isLockTimeout(error)) await this.#splitByKey(batch, error, timeoutMs);
      else if (batch.length > 1 && isRefused(error)) await this.#halve(batch);
      else for (const waiting of batch) waiting.reject(error);
    }
  }

  /** One after the other, so that the order of one caller's rows is kept. */
  async #halve(batch: readonly Waiting[]): Promise<void> {
    const middle = batch.length >> 1;
    await this.#send(batch.slice(0, middle));
    await this.#send(batch.slice(middle));
  }

  /** Somebody's open transaction holds a key. The rows of that key step aside and wait there; all others go on. */
  async #splitByKey(batch: readonly Waiting[], error: unknown, timeoutMs: number): Promise<void> {
    const keys = [...new Set(batch.map((waiting) => waiting.job.idempotencyKey))];
    if (keys.length > 1) {
      const firstHalf = new Set(keys.slice(0, keys.length >> 1));
      await this.#send(batch.filter((waiting) => firstHalf.has(waiting.job.idempotencyKey)));
      await this.#send(batch.filter((waiting) => !firstHalf.has(waiting.job.idempotencyKey)));
    } else if (timeoutMs < defaults.enqueueLockTimeoutAloneMs) {
      this.#stepAside(batch);
    } else {
      for (const waiting of batch)
        waiting.reject(
          new EnqueueBlockedError(waiting.job.idempotencyKey ?? "", timeoutMs, { cause: error }),
        );
    }
  }

  /** A few places to wait in, each a connection of the pool at most. */
  #stepAside(batch: readonly Waiting[]): void {
    const place = this.#asideCount++ % defaults.enqueueAsideMax;
    const before = this.#aside[place] ?? Promise.resolve();
    this.#aside[place] = before.then(() => this.#send(batch, defaults.enqueueLockTimeoutAloneMs));
  }
}

function settle(waiting: Waiting, answer: Enqueued | undefined): void {
  if (answer === undefined)
    waiting.reject(new Error(`The database did not answer for job ${waiting.job.id}.`));
  else waiting.resolve(answer);
}

function isRefused(error: unknown): boolean {
  return error instanceof DatabaseRefusedError;
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseRefusedError && error.sqlState === "55P03";
}
