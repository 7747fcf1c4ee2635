import { defaults } from "../../src/settings.js";
import type { Dice } from "../dice.js";
import type { Weather } from "../world/link.js";

/** What a seed has chosen. */
export interface TenantPlan {
  /** Processes at the start. */
  readonly workers: number;
  readonly tenants: readonly PlannedTenant[];
  /** Where processes live, by chance; empty when nobody says. */
  readonly regions: readonly string[];
  readonly heartbeatMs: number;
  readonly ttlMs: number;
  readonly tickMs: number;
  readonly drainLimitMs: number;
  /** False for a pooler in between: then a crash is noticed by the TTL alone, and nobody hears notifications. */
  readonly hasSessions: boolean;
  readonly faultEveryMs: number;
  /** One worker crashes and comes back every few seconds in this time, and nothing else happens. */
  readonly flaps: { readonly fromMs: number; readonly untilMs: number } | null;
  /** Of first starts, that throw. */
  readonly failShare: number;
  /** Of runs, that take longer to end than they are given. */
  readonly stuckShare: number;
  readonly weather: Weather;
  readonly chaosUntilMs: number;
  readonly endMs: number;
}

export interface PlannedTenant {
  readonly tenant: string;
  readonly preferredRegion: string | null;
}

const minuteMs = 60_000;
/** Within this time the processes of the beginning have been started. */
export const startMsMax = 20_000;

export function tenantPlanOf(dice: Dice, minutes: number): TenantPlan {
  const heartbeatMs = dice.whole(2_000, 10_000);
  const ttlMs = Math.ceil(heartbeatMs * dice.between(defaults.ttlHeartbeatsMin, 4));
  const tickMs = dice.whole(5_000, 30_000);
  const endMs = minutes * minuteMs;
  // At the end everything has the time that it is promised to take at most, or a third of a short simulation.
  const calmMs = Math.min(endMs / 3, ttlMs + 3 * tickMs + 30_000);
  const flaps = dice.chance(0.2) ? flapsOf(dice, { tickMs, endMs }) : null;
  const regions = flaps === null && dice.chance(0.25) ? ["east", "west"] : [];
  return {
    workers: dice.whole(3, 6),
    tenants: tenantsOf(dice, regions),
    regions,
    heartbeatMs,
    ttlMs,
    tickMs,
    drainLimitMs: dice.pick([2_000, 5_000, 30_000]),
    hasSessions: dice.chance(0.75),
    faultEveryMs: dice.pick([8_000, 20_000, 60_000, 120_000]),
    flaps,
    failShare: dice.pick([0, 0.05, 0.2]),
    stuckShare: dice.pick([0, 0, 0.01]),
    weather: flaps === null ? weatherOf(dice) : fairWeather(),
    chaosUntilMs: endMs - calmMs,
    endMs,
  };
}

function tenantsOf(dice: Dice, regions: readonly string[]): readonly PlannedTenant[] {
  return Array.from({ length: dice.whole(20, 40) }, (_, n) => ({
    tenant: `t${String(n + 1).padStart(2, "0")}`,
    preferredRegion: regions.length > 0 && dice.chance(0.5) ? dice.pick(regions) : null,
  }));
}

/** After the fleet has come to rest. */
function flapsOf(
  dice: Dice,
  { tickMs, endMs }: { readonly tickMs: number; readonly endMs: number },
): { readonly fromMs: number; readonly untilMs: number } {
  const fromMs = startMsMax + 4 * tickMs;
  return { fromMs, untilMs: fromMs + Math.min(endMs / 3, dice.between(2, 6) * minuteMs) };
}

function weatherOf(dice: Dice): Weather {
  if (dice.chance(0.5)) return fairWeather();
  return {
    lostShare: dice.pick([0, 0.001, 0.005]),
    slowShare: dice.pick([0, 0.002, 0.01]),
    slowMsMax: dice.pick([50, 500, 5_000]),
    oddNoticeShare: dice.pick([0, 0.05]),
  };
}

function fairWeather(): Weather {
  return { lostShare: 0, slowShare: 0, slowMsMax: 0, oddNoticeShare: 0 };
}
