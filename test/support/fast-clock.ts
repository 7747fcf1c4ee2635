import type { Clock } from "../../src/seams/clock.js";

/** Database time that runs `factor` times as fast as the wall clock, so that leases and backoffs pass quickly. */
export function fastClock(factor: number, start: number = Date.now()): Clock {
  return {
    monotonicMs: () => performance.now(),
    epochMs: () => Date.now(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    databaseNow: () => new Date(start + (Date.now() - start) * factor),
  };
}
