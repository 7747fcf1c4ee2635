import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import type { Activity } from "./activity.js";

export interface LoopSeams {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
}

/** A reason of our own: the one that abort() would make has a stack trace, and is the dearest part of a wake. */
const woken = "woken";

/**
 * Runs an activity: pass, sleep or wake, pass. A pass that throws becomes an event and a growing wait, never the end of the loop. A wake that comes during
 * a pass makes another pass follow at once, because the first may have looked too early.
 */
export class Loop {
  readonly #seams: LoopSeams;
  readonly #activity: Activity;
  #alarm: AbortController | null = null;
  #isWoken = false;
  #isStopping = false;
  #failures = 0;
  #running: Promise<void> | null = null;
  /** When the pass under way began, or when the next one should. */
  #expectedAtMs = Number.POSITIVE_INFINITY;

  constructor(seams: LoopSeams, activity: Activity) {
    this.#seams = seams;
    this.#activity = activity;
  }

  /** For how long a pass has been under way, or is overdue; 0 while it sleeps as it should, and when it does not run. */
  lateMs(): number {
    return this.#running === null ? 0 : Math.max(0, this.#seams.clock.monotonicMs() - this.#expectedAtMs);
  }

  start(): void {
    this.#isStopping = false;
    this.#running ??= this.#run();
  }

  wake(): void {
    this.#isWoken = true;
    this.#alarm?.abort(woken);
  }

  /** Resolves when the pass under way has ended. No other follows. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#alarm?.abort(woken);
    await this.#running;
    this.#running = null;
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#isWoken = false;
      this.#expectedAtMs = this.#seams.clock.monotonicMs();
      const delayMs = await this.#pass();
      if (this.#isStopping) break;
      await this.#sleep(this.#isWoken ? 0 : delayMs);
    }
  }

  async #pass(): Promise<number> {
    try {
      const delayMs = await this.#activity.run();
      this.#failures = 0;
      return delayMs;
    } catch (error) {
      this.#failures++;
      this.#seams.events.emit("activity:failed", {
        activity: this.#activity.name,
        failures: this.#failures,
        error,
      });
      const ceiling = defaults.loopBackoffMs * 2 ** Math.min(this.#failures, 10);
      const limitMs = Math.min(
        defaults.loopBackoffMsMax,
        this.#activity.backoffMsMax ?? Number.POSITIVE_INFINITY,
      );
      return Math.min(ceiling, limitMs) * (0.5 + this.#seams.random.fraction() / 2);
    }
  }

  async #sleep(delayMs: number): Promise<void> {
    if (delayMs <= 0) return await this.#seams.clock.sleep(0);
    this.#alarm = new AbortController();
    const sleepMs = Math.min(delayMs, defaults.loopSleepMsMax);
    this.#expectedAtMs = this.#seams.clock.monotonicMs() + sleepMs;
    await this.#seams.clock.sleep(sleepMs, this.#alarm.signal);
    this.#alarm = null;
  }
}
