import { isLockTimeout, isReadOnly } from "../database/guarded-database.js";
import { DatabaseRefusedError } from "../errors.js";
import { defaults } from "../settings.js";
import type { Enqueued, EnqueueSeams } from "./enqueue.js";
import { EnqueueAside, send, type Waiting } from "./enqueue-aside.js";
import type { NewJob } from "./new-job.js";

/**
 * Natural batching: one insert is under way at a time, and whatever accumulates meanwhile goes in the next one. No timer and no
 * added latency: the first call on an idle lane leaves at once. Each promise settles after its own row has committed.
 * When a batch is refused it is split, so that an error reaches the caller of its row alone.
 */
export class EnqueueLane {
  readonly #seams: EnqueueSeams;
  readonly #keyOf: ((job: NewJob) => string) | null;
  readonly #aside: EnqueueAside;
  #waiting: Waiting[] = [];
  #isBusy = false;

  /**
   * `keyOf` says which lock of somebody's open transaction a job may have to wait for: its idempotency key, its partition key in a strict
   * queue. Null where a job never waits.
   */
  constructor(seams: EnqueueSeams, keyOf: ((job: NewJob) => string) | null) {
    this.#seams = seams;
    this.#keyOf = keyOf;
    this.#aside = new EnqueueAside(seams);
  }

  add(job: NewJob): Promise<Enqueued> {
    return new Promise((resolve, reject) => {
      const waiting = { job, resolve, reject, receipts: [], sinceMs: this.#seams.clock.monotonicMs() };
      const key = this.#keyOf?.(job);
      if (key !== undefined && this.#aside.holds(key)) {
        this.#aside.add(key, [waiting]);
        return;
      }
      this.#waiting.push(waiting);
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

  async #send(batch: readonly Waiting[]): Promise<void> {
    const error = await send(
      this.#seams,
      batch,
      this.#keyOf === null ? undefined : defaults.enqueueLockTimeoutMs,
    );
    if (error === null) return;
    if (isLockTimeout(error) && this.#keyOf !== null) this.#stepAside(batch, this.#keyOf);
    else if (batch.length > 1 && error instanceof DatabaseRefusedError && !isReadOnly(error))
      await this.#halve(batch);
    else for (const waiting of batch) waiting.reject(error);
  }

  /** One after the other, so that the order of one caller's rows is kept. */
  async #halve(batch: readonly Waiting[]): Promise<void> {
    const middle = batch.length >> 1;
    await this.#send(batch.slice(0, middle));
    await this.#send(batch.slice(middle));
  }

  /** Somebody's open transaction holds one of the keys. All of them step aside and are tried there one by one; the lane goes on. */
  #stepAside(batch: readonly Waiting[], keyOf: (job: NewJob) => string): void {
    for (const waiting of batch) this.#aside.add(keyOf(waiting.job), [waiting]);
  }
}
