import type { Clock } from "../../src/seams/clock.js";
import { baseMs, serverTime } from "../engine/virtual-time.js";
import type { SimProcess } from "./process.js";

/** The clocks of one process: they run a little fast or slow, and its time of day may be anything. */
export class SimClock implements Clock {
  readonly #process: SimProcess;
  readonly #rate: number;
  readonly #startMs: number;
  /** How far the time of day is off. */
  offsetMs = 0;

  constructor(process: SimProcess, rate: number) {
    this.#process = process;
    this.#rate = rate;
    this.#startMs = process.dice.between(0, 100_000);
  }

  monotonicMs(): number {
    return this.#startMs + this.#process.around.schedule.nowMs * this.#rate;
  }

  epochMs(): number {
    return Math.floor(baseMs + this.#process.around.schedule.nowMs * this.#rate + this.offsetMs);
  }

  sleep(ms: number, wake?: AbortSignal): Promise<void> {
    return this.#process.sleep(Number.isFinite(ms) ? ms / this.#rate : longMs, wake);
  }

  databaseNow(): Date {
    return serverTime;
  }
}

/** Longer than any simulation. */
const longMs = 10 * 365 * 86_400_000;
