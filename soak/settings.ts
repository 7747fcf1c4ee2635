import { systemClock } from "../src/adapters/system-clock.js";
import type { Clock } from "../src/seams/clock.js";

/** What the parts of a soak agree on. */
export const schema = "soak";
export const queueName = "inbox";
export const keysCount = 2_000;
export const dayMs = 86_400_000;

export interface SoakJob {
  readonly workMs: number;
  /** Attempts that fail before one succeeds; a job with more than it has attempts becomes a dead letter. */
  readonly failures: number;
  readonly text: string;
}

export interface SoakTask {
  readonly name: string;
  readonly url: string;
  readonly jobsPerSecond: number;
}

/** From the parent: so many days have been passed over. */
export interface DaysPassed {
  readonly days: number;
}

/** From a process, when it is asked. */
export interface ProcessFigures {
  readonly name: string;
  readonly rssMb: number;
  readonly heapMb: number;
  readonly done: number;
  readonly failed: number;
  /** From when it was due to its first start, of the jobs since the last answer. */
  readonly waitsMs: readonly number[];
  /** What claims took since the last answer. */
  readonly claimsMs: readonly number[];
}

/** The time of the machine, moved on by whole days, as SQL is told it. Waits and spans are real. */
export function drivenClock(): Clock & { days: number } {
  return {
    ...systemClock,
    days: 0,
    databaseNow() {
      return new Date(Date.now() + this.days * dayMs);
    },
  };
}
