import { InvalidOptionError } from "./errors.js";

/** Every default and every limit, with its unit in its name. */
export const defaults = {
  schema: "leasehold",
  queue: "inbox",
  buckets: 360,
  bucketsMax: 1024,
  ring: "rendezvous",
  leaseMs: 90_000,
  maxAttempts: 5,
  maxAttemptsMax: 1_000,
  retentionMs: 604_800_000,
  dedupeWindowMs: 604_800_000,
  payloadWarningBytes: 2_048,
  payloadLimitBytes: 65_536,
  payloadDepthMax: 100,
  keyBytesMax: 512,
  kindBytesMax: 256,
  delayMsMax: 315_360_000_000,
  priorityMax: 2_147_483_647,
  errorTextMax: 8_000,
  claimLimit: 25,
  claimLimitMax: 5_000,
  runMax: 20,
  suspectsMax: 1,
  enqueueBatchRowsMax: 1_000,
  enqueueBatchBytesMax: 4_194_304,
  enqueueManyRowsMax: 100_000,
  enqueueManyBytesMax: 67_108_864,
  enqueueLockTimeoutMs: 100,
  enqueueBlockedMs: 15_000,
  enqueueAsideMax: 3,
  enqueueAsideTryMs: 1_000,
  databaseTriesMax: 8,
  databaseBackoffMs: 25,
  databaseBackoffMsMax: 2_000,
  migrateLockTimeoutMs: 900,
  migrateTriesMax: 60,
  connectionsMax: 10,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 60_000,
  archiveDaysAhead: 7,
  sweepBucketsPerCall: 60,
  sweepPassesMax: 20,
  expireRowsMax: 10_000,
  expirePassesMax: 100,
  handledRetentionMs: 2_592_000_000,
  samplesKeepMs: 604_800_000,
  listLimit: 100,
  listLimitMax: 1_000,
  operateBatchRows: 1_000,
  operateRowsMax: 1_000_000,
} as const;
Object.freeze(defaults);

/** Reads a whole number from user options, with its default and range. */
export function wholeNumber(
  option: string,
  value: number | undefined,
  range: { readonly fallback: number; readonly min: number; readonly max: number },
): number {
  if (value === undefined) return range.fallback;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < range.min || value > range.max) {
    throw new InvalidOptionError(option, value, `a whole number from ${range.min} to ${range.max}`);
  }
  return value;
}

/** A wait that the database can add to a time, whatever was asked for. */
export function delayInRange(delayMs: number): number {
  return Number.isFinite(delayMs) ? Math.min(Math.max(0, Math.round(delayMs)), defaults.delayMsMax) : 0;
}

/** Options are an object or left out; null and the like are mistakes. */
export function asObject<T extends object>(option: string, value: T): T {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidOptionError(option, value, "an object");
  }
  return value;
}

export function oneOf<T extends string>(
  option: string,
  value: T | undefined,
  allowed: readonly T[],
  fallback: T,
): T {
  if (value === undefined) return fallback;
  if (!allowed.includes(value)) throw new InvalidOptionError(option, value, `one of ${allowed.join(", ")}`);
  return value;
}

export function flag(option: string, value: boolean | undefined, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value !== "boolean") throw new InvalidOptionError(option, value, "true or false");
  return value;
}
