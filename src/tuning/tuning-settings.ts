import { InvalidOptionError } from "../errors.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { defaults } from "../settings.js";

/** One value for each row of the table of settings, and the number of processes. */
export interface TuningSettings {
  readonly workers: number;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
  readonly leaseMs: number;
  /** How often a worker renews: a third of the lease. Null for claims by hand that nobody renews. */
  readonly renewalMs: number | null;
  readonly handlerTimeoutMs: number;
  readonly claimBatch: number;
  readonly pollIdleMs: number;
  readonly pollActiveMs: number;
  readonly ringCacheMs: number;
  readonly housekeepingMs: number;
  readonly buckets: number;
  readonly vnodes: number;
  readonly concurrency: number;
  readonly payloadLimitBytes: number;
  readonly retentionMs: number;
  readonly connectionsMax: number;
}

export type Setting = keyof TuningSettings;

type Range = readonly [min: number, max: number];

/** The ranges of the options themselves; a test holds recommendations against the functions that check those. */
export const ranges: Readonly<Record<Setting, Range>> = Object.freeze({
  workers: [1, defaults.tuneWorkersMax],
  heartbeatMs: [50, 3_600_000],
  ttlMs: [150, 86_400_000],
  leaseMs: [defaults.leaseMsMin, defaults.leaseMsMax],
  renewalMs: [1, defaults.leaseMsMax],
  handlerTimeoutMs: [1, defaults.handlerTimeoutMsMax],
  claimBatch: [1, defaults.claimLimitMax],
  pollIdleMs: [defaults.pollIdleMsMin, defaults.pollIdleMsMax],
  pollActiveMs: [defaults.pollActiveMsMin, defaults.pollActiveMsMax],
  ringCacheMs: [defaults.ringCacheMsMin, defaults.ringCacheMsMax],
  housekeepingMs: [100, 86_400_000],
  buckets: [1, defaults.bucketsMax],
  vnodes: [1, 4_096],
  concurrency: [1, defaults.concurrencyMax],
  payloadLimitBytes: [2, 16_777_216],
  retentionMs: [0, 315_360_000_000],
  connectionsMax: [2, 1_000],
});

const settingNames: OptionNames<TuningSettings> = Object.freeze(
  Object.fromEntries(Object.keys(ranges).map((name) => [name, true])) as Record<Setting, true>,
);

/** Rounded, and as near to the value as the option allows. */
export function inRange(setting: Setting, value: number): number {
  const [min, max] = ranges[setting];
  return Math.round(Math.min(max, Math.max(min, value)));
}

/** Some settings, each a whole number in its range. */
export function checkedSettings(given: Partial<TuningSettings>): Partial<TuningSettings> {
  const settings = withKnownNames<Partial<TuningSettings>>("the settings", given, settingNames);
  for (const [name, [min, max]] of Object.entries(ranges) as [Setting, Range][]) {
    const value = settings[name];
    if (value === undefined || (value === null && name === "renewalMs")) continue;
    if (!Number.isSafeInteger(value) || Number(value) < min || Number(value) > max)
      throw new InvalidOptionError(name, value, `a whole number from ${min} to ${max}`);
  }
  return settings;
}
