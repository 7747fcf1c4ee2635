import type { Dice } from "../dice.js";
import { type Variant, variants } from "../engine/variants.js";
import type { Weather } from "../world/link.js";

/** What a seed has chosen. */
export interface Plan {
  readonly variant: Variant;
  readonly workers: number;
  readonly producers: number;
  readonly keys: number;
  readonly jobsPerProducer: number;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
  readonly maxAttempts: number;
  /** Null for the usual backoff. */
  readonly retryDelayMs: number | null;
  readonly faultEveryMs: number;
  readonly weather: Weather;
}

/** What a handler is told to do. */
export interface SimJob {
  readonly workMs: number;
  /** Attempts that fail before one succeeds. */
  readonly failures: number;
  readonly ends: "well" | "as a dead letter" | "with its process";
  readonly effect: "none" | "once" | "fenced";
  /** Stops when its signal is aborted. */
  readonly heeds: boolean;
}

export function planOf(seed: number, dice: Dice): Plan {
  const heartbeatMs = dice.pick([600, 1_200]);
  return {
    variant: variants[seed % variants.length] ?? dice.pick(variants),
    workers: dice.whole(2, 4),
    producers: dice.whole(1, 3),
    keys: dice.whole(1, 6),
    jobsPerProducer: dice.whole(6, 16),
    concurrency: dice.whole(1, 4),
    leaseMs: dice.pick([1_000, 2_000, 5_000]),
    heartbeatMs,
    ttlMs: heartbeatMs * 3,
    maxAttempts: dice.whole(2, 4),
    retryDelayMs: dice.pick([null, 50, 400]),
    faultEveryMs: dice.pick([150, 400, 1_000]),
    weather: {
      lostShare: dice.pick([0, 0.01, 0.04]),
      slowShare: dice.pick([0, 0.02, 0.1]),
      slowMsMax: dice.pick([50, 500, 5_000]),
      oddNoticeShare: 0.05,
    },
  };
}

export function jobOf(dice: Dice): SimJob {
  const isSlow = dice.chance(0.15);
  return {
    workMs: isSlow ? dice.between(100, 1_300) : dice.between(0, 60),
    failures: dice.chance(0.2) ? dice.whole(1, 2) : 0,
    ends: dice.chance(0.1) ? dice.pick(["as a dead letter", "with its process"] as const) : "well",
    effect: dice.pick(["none", "once", "fenced"] as const),
    heeds: dice.chance(0.7),
  };
}
