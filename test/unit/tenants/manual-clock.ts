import type { Clock } from "../../../src/seams/clock.js";

interface Sleeper {
  readonly atMs: number;
  readonly end: () => void;
}

/** Time that passes only when a test says so. */
export interface ManualClock extends Clock {
  /** What is slept now, in ms from now. */
  readonly sleeps: readonly number[];
  /** Lets time pass, and everything that was due run. */
  advance(ms: number): Promise<void>;
}

export function manualClock(): ManualClock {
  let nowMs = 1_000;
  const sleepers = new Set<Sleeper>();
  return {
    monotonicMs: () => nowMs,
    epochMs: () => nowMs,
    databaseNow: () => null,
    sleep: (ms, wake) =>
      new Promise((resolve) => {
        if (wake?.aborted === true) return resolve();
        const end = (): void => {
          sleepers.delete(sleeper);
          resolve();
        };
        const sleeper = { atMs: nowMs + ms, end };
        sleepers.add(sleeper);
        wake?.addEventListener("abort", end);
      }),
    get sleeps() {
      return [...sleepers].map(({ atMs }) => atMs - nowMs);
    },
    advance: async (ms) => {
      nowMs += ms;
      for (const { atMs, end } of [...sleepers]) if (atMs <= nowMs) end();
      await settled();
    },
  };
}

/** Lets everything run that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
