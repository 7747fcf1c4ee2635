import { defaults } from "../../src/settings.js";
import type { Entry, EntryOf } from "../entries.js";
import type { Violation } from "../history.js";
import type { TenantPlan } from "./plan.js";

export interface TenantHistorySettings {
  readonly tenants: readonly string[];
  readonly ttlMs: number;
  readonly tickMs: number;
  /** How long a tenant that was given up, or whose owner crashed, may be without another while nothing else is wrong. */
  readonly soonMs: number;
  /** The same after faults that leave only the TTL to go by. */
  readonly lateMs: number;
  /** Within this time a worker that joins has its share; null where regions or runs that do not end decide otherwise. */
  readonly shareMs: number | null;
}

export interface TenantHistory {
  readonly settings: TenantHistorySettings;
  readonly entries: readonly Entry[];
}

export type TenantChecker = (history: TenantHistory) => readonly Violation[];

/** What is done to a process and takes nothing from it: it can do all that is asked of it. */
const harmless: ReadonlySet<string> = new Set(["evicted", "draining", "flaps", "clock set"]);

export function isHarmless({ what, state }: EntryOf<"fault">): boolean {
  return harmless.has(what) && state !== "gone";
}

/** `a` of the process `a#2`. */
export function workerOf(process: string): string {
  return process.split("#")[0] ?? process;
}

/** Clocks run up to 3 % fast or slow. */
const drift = 1.04;
/** Beside a tick: until all know that somebody has joined. */
const joinMs = 10_000;
/** Statements on their way, and what happens in the same moment. */
const slackMs = 500;

/**
 * How long it may take until a tenant runs again, from the constants of src/settings.ts.
 *
 * Soon, with sessions: the session lock of a crashed process is free at once. A watcher that died with it is replaced by its deputy; the watcher looks, waits for the grace and looks
 * again; then the members and the leases are read, and who is new waits for others to start, or looks again after a gap. Notifications may be lost in some seeds: then
 * the next reading of the roster and the next tick find out. What was given up, by a drain or after an eviction, is told and needs less.
 *
 * Late, or without sessions: the owner is gone when its TTL is over, which is counted from its last beat; the roster is read then, and the next tick of whoever is to go on starts it.
 */
export function settingsOf(plan: TenantPlan): TenantHistorySettings {
  const { ttlMs, tickMs, hasSessions, weather } = plan;
  const { watchMs, watchDeputyMs, sessionGraceMs, ringCacheMs, tenantStartupMs, tenantGapMs } = defaults;
  const noticedMs = watchDeputyMs + watchMs + sessionGraceMs;
  const startedMs = tenantStartupMs + tenantGapMs + slackMs;
  const unheardMs = ringCacheMs + tickMs;
  const lateMs = (ttlMs + unheardMs + startedMs) * drift;
  const soonMs = (noticedMs + startedMs + (weather.oddNoticeShare > 0 ? unheardMs : 0)) * drift;
  // What was given up for it is found at its next tick where that is not told.
  const untoldMs = weather.oddNoticeShare > 0 || !hasSessions ? tickMs : 0;
  const shareMs = (tickMs + joinMs + untoldMs) * drift + plan.drainLimitMs;
  return {
    tenants: plan.tenants.map(({ tenant }) => tenant),
    ttlMs,
    tickMs,
    soonMs: hasSessions ? soonMs : lateMs,
    lateMs,
    shareMs: plan.regions.length > 0 || plan.stuckShare > 0 ? null : shareMs,
  };
}
