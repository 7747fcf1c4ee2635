import type { Clock } from "../../src/seams/clock.js";

/** Shorter than the idle poll of 1.7 to 2 s, longer than any other wait of about a second. */
const longMsDefault = 1_200;
const pollMsMax = 2_000;

/**
 * The clock of the system, except that long waits (idle polls, refreshes of the ring, heartbeats at their default) do not end by
 * themselves, only by a wake or when a test lets time pass. Whatever a worker starts on this clock, it started because it was told or because it knew
 * when, never because a poll happened to come: the verdict does not depend on how fast the machine is.
 *
 * Without heartbeats a worker needs a TTL that outlasts the test: connect({ ...withoutPolls() }).
 */
export interface HeldClock extends Clock {
  /** True while the worker sleeps until its idle poll: all looks that follow a find or a start are over. */
  isAsleep(): boolean;
  /** How long each of the waits is that are held. */
  held(): readonly number[];
  /** So much time passes at once: held waits that have no more than that left end. */
  elapse(ms: number): void;
  /** Long waits end by themselves again, those under way at once. */
  release(): void;
  /** From now on long waits are held. */
  hold(): void;
}

export interface HeldClockOptions {
  /** An idle poll begins to be held, or is not held any more. */
  readonly onAsleep?: (isAsleep: boolean) => void;
  /** Waits that are longer than this are held. */
  readonly longMs?: number;
  /** Time stands still but for elapse(); waits that are not held take their time all the same. */
  readonly isStill?: boolean;
}

export function heldClock(options: HeldClockOptions = {}): HeldClock {
  const { onAsleep = () => {}, longMs = longMsDefault, isStill = false } = options;
  const waits = new Set<{ readonly ms: number; leftMs: number; end(): void }>();
  let isHolding = true;
  let passedMs = 0;
  const pass = (ms: number): void => {
    for (const wait of [...waits]) {
      wait.leftMs -= ms;
      if (wait.leftMs <= 0) wait.end();
    }
  };
  return {
    monotonicMs: () => (isStill ? 0 : performance.now()) + passedMs,
    epochMs: () => Date.now(),
    databaseNow: () => null,
    sleep: (ms, wake) =>
      new Promise((resolve) => {
        if (wake?.aborted === true) return resolve();
        if (ms <= 0) return void setImmediate(resolve);
        const isHeld = isHolding && ms > longMs;
        const timer = isHeld ? undefined : setTimeout(() => wait.end(), ms);
        const wait = {
          ms,
          leftMs: ms,
          end: (): void => {
            clearTimeout(timer);
            if (waits.delete(wait) && ms <= pollMsMax) onAsleep(false);
            wake?.removeEventListener("abort", wait.end);
            resolve();
          },
        };
        wake?.addEventListener("abort", wait.end);
        if (!isHeld) return;
        waits.add(wait);
        if (ms <= pollMsMax) onAsleep(true);
      }),
    isAsleep: () => [...waits].some(({ ms }) => ms <= pollMsMax),
    held: () => [...waits].map(({ ms }) => ms),
    elapse: (ms) => {
      passedMs += ms;
      pass(ms);
    },
    release: () => {
      isHolding = false;
      pass(Number.POSITIVE_INFINITY);
    },
    hold: () => {
      isHolding = true;
    },
  };
}

/** For connect(): a held clock, and a TTL that no test outlasts. */
export function withoutPolls(): { readonly clock: HeldClock; readonly ttlMs: number } {
  return { clock: heldClock(), ttlMs: 600_000 };
}
