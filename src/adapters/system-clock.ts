import type { Clock } from "../seams/clock.js";

export const systemClock: Clock = Object.freeze({
  monotonicMs: () => performance.now(),
  epochMs: () => Date.now(),
  sleep,
  databaseNow: () => null,
});

function sleep(ms: number, wake?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (wake?.aborted === true) return resolve();
    // A timer of 0 takes a millisecond; this takes one turn.
    if (ms <= 0) return void setImmediate(resolve);
    const end = (): void => {
      clearTimeout(timer);
      wake?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    wake?.addEventListener("abort", end);
  });
}
