import type { WorkerRecord } from "../membership/worker-record.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";

/** More notifications than this in `busyMs` are not worth having: each costs an insert more than polling costs anybody. */
const wakesMax = 50;

/**
 * The wish to be woken, as the registry has it. Said by a worker that looked and found nothing; taken back only by one that is continuously
 * busy, because every insert for a worker that wishes pays for a notification.
 */
export class WakeWish {
  readonly #clock: Clock;
  readonly #record: WorkerRecord;
  readonly #queue: string;
  #said: { readonly bits: string; readonly generation: bigint } | null = null;
  #busySinceMs: number | null = null;
  #wakes = 0;
  #wakesSinceMs = 0;
  #quietUntilMs = 0;
  #quietMs: number = defaults.wakeQuietMs;

  constructor(seams: { readonly clock: Clock }, record: WorkerRecord, queue: string) {
    this.#clock = seams.clock;
    this.#record = record;
    this.#queue = queue;
  }

  /** True when the registry has exactly this wish. */
  isSaidFor(owned: readonly number[], buckets: number): boolean {
    return this.#said?.bits === bitsOf(owned, buckets) && this.#said.generation === this.#record.generation;
  }

  /** False for a while after too many notifications: then polling is cheaper for everybody. */
  get maySay(): boolean {
    return this.#clock.monotonicMs() >= this.#quietUntilMs;
  }

  async say(owned: readonly number[], buckets: number): Promise<void> {
    const bits = bitsOf(owned, buckets);
    const { generation } = this.#record;
    await this.#record.wish(this.#queue, bits);
    this.#said = { bits, generation };
    this.#busySinceMs = null;
    this.#wakes = 0;
  }

  /** A notification came. */
  woken(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#wakesSinceMs > defaults.busyMs) {
      this.#wakesSinceMs = nowMs;
      this.#wakes = 0;
    }
    this.#wakes++;
  }

  /** A pass found work, and whether it was as much as there was room for. */
  async found(isSaturated: boolean): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    this.#busySinceMs = isSaturated ? (this.#busySinceMs ?? nowMs) : null;
    const isBusy = this.#busySinceMs !== null && nowMs - this.#busySinceMs >= defaults.busyMs;
    if (isBusy) await this.#takeBack();
  }

  /** After a pass: takes the wish back when notifications come faster than is good, for longer each time that it happens again. True when it did. */
  async calmDown(): Promise<boolean> {
    if (this.#said === null || this.#wakes <= wakesMax) return false;
    const nowMs = this.#clock.monotonicMs();
    const isAgain = nowMs - this.#quietUntilMs < defaults.wakeQuietMs;
    this.#quietMs = isAgain ? Math.min(this.#quietMs * 2, defaults.wakeQuietMsMax) : defaults.wakeQuietMs;
    this.#quietUntilMs = nowMs + this.#quietMs;
    await this.#takeBack();
    return true;
  }

  async #takeBack(): Promise<void> {
    if (this.#said === null) return;
    this.#said = null;
    this.#wakes = 0;
    await this.#record.wish(this.#queue, null);
  }
}

function bitsOf(owned: readonly number[], buckets: number): string {
  const bits = new Array<string>(buckets).fill("0");
  for (const bucket of owned) bits[bucket] = "1";
  return bits.join("");
}
