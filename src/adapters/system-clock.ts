import type { Clock } from "../seams/clock.js";

export const systemClock: Clock = Object.freeze({
  monotonicMs: () => performance.now(),
  epochMs: () => Date.now(),
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  databaseNow: () => null,
});
