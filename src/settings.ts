import { InvalidOptionError } from "./errors.js";

/** Told to the registry, so that a rolling deploy can be watched; a test keeps it equal to package.json. */
export const version = "0.1.0";

/** Every default and every limit, with its unit in its name. */
export const defaults = {
  schema: "leasehold",
  queue: "inbox",
  buckets: 360,
  bucketsMax: 1024,
  ring: "rendezvous",
  ringHash: "fnv1a-fmix32",
  vnodes: 128,
  leaseMs: 90_000,
  leaseMsMin: 100,
  leaseMsMax: 86_400_000,
  maxAttempts: 12,
  maxAttemptsMax: 1_000,
  maxCrashes: 5,
  maxCrashesMax: 1_000,
  kindPoliciesMax: 1_000,
  retentionMs: 604_800_000,
  deadLetterRetentionMs: 2_592_000_000,
  dedupeWindowMs: 604_800_000,
  payloadWarningBytes: 2_048,
  payloadLimitBytes: 65_536,
  payloadDepthMax: 100,
  keyBytesMax: 512,
  kindBytesMax: 256,
  delayMsMax: 315_360_000_000,
  priorityMax: 2_147_483_647,
  errorTextMax: 8_000,
  errorStackMax: 2_000,
  errorCausesMax: 3,
  optionNameMax: 64,
  logLinesMax: 10,
  logWindowMs: 10_000,
  logLineMax: 1_000,
  databaseLostFailures: 3,
  claimLimit: 25,
  claimLimitMax: 5_000,
  claimBytesMax: 8_388_608,
  claimUnreadRows: 25,
  claimTimeoutMs: 15_000,
  unsureMs: 5_000,
  claimFailuresMax: 5,
  settleFailuresMax: 3,
  failingProbeMs: 2_000,
  failingProbeMsMax: 60_000,
  failingReasonMax: 500,
  runMax: 100,
  runRows: 20,
  runRowsMin: 10,
  suspectsMax: 1,
  enqueueBatchRowsMax: 1_000,
  enqueueBatchBytesMax: 4_194_304,
  enqueueManyRowsMax: 100_000,
  enqueueManyBytesMax: 67_108_864,
  enqueueLockTimeoutMs: 100,
  enqueueBlockedMs: 15_000,
  enqueueAsideMax: 3,
  enqueueAsideTryMs: 1_000,
  databaseTriesMax: 10,
  workerTriesMax: 3,
  databaseBackoffMs: 25,
  databaseBackoffMsMax: 1_000,
  workerIdBytesMax: 256,
  heartbeatMs: 10_000,
  ttlMs: 30_000,
  ttlHeartbeatsMin: 3,
  trustMarginShare: 0.1,
  beatAgainShare: 0.25,
  ringRefreshMs: 8_000,
  ringTimeoutMs: 5_000,
  watchMs: 500,
  watchDeputyMs: 900,
  watchOtherMs: 5_000,
  sessionGraceMs: 1_500,
  sessionTimeoutMs: 5_000,
  sessionProbeMs: 1_000,
  sessionSelfTestMs: 3_000,
  sessionLockTriesMax: 10,
  sessionLockWaitMs: 50,
  concurrency: 8,
  concurrencyMax: 10_000,
  claimAheadMs: 250,
  claimRowsMax: 500,
  claimsMax: 2,
  claimBesideRows: 250,
  inHandRowsMax: 4_000,
  inHandBytesMax: 33_554_432,
  endingRowsMax: 1_000,
  wokenBucketsMax: 8,
  spanBucketsMin: 8,
  spanRowsPerBucket: 16,
  frontMs: 1_000,
  floorMsMax: 15_000,
  frontMsMax: 60_000,
  frontMsPerPass: 20,
  frontShare: 0.05,
  knownKeysMax: 20_000,
  lateRowsMax: 50_000,
  lateLookShare: 0.25,
  knownKeysPerPass: 200,
  knownIdleMs: 10_000,
  walkShare: 0.1,
  hotKeyRows: 200,
  hotKeysMax: 4,
  pollIdleMs: 2_000,
  pollActiveMs: 60,
  pollJitter: 0.15,
  lookAgainMs: [0, 25, 100, 400],
  busyMs: 250,
  wakeQuietMs: 1_000,
  wakeQuietMsMax: 8_000,
  renewShare: 0.333,
  renewRowsMax: 1_000,
  leaseMarginShare: 0.1,
  superviseMs: 1_000,
  handlerTimeoutMs: 900_000,
  handlerTimeoutMsMax: 604_800_000,
  abortGraceMs: 5_000,
  drainLimitMs: 30_000,
  drainLimitMsMax: 3_600_000,
  settleRowsMax: 500,
  settleTimeoutMs: 15_000,
  tenantTickMs: 30_000,
  tenantTickMsMin: 50,
  tenantTickMsMax: 3_600_000,
  tenantSettledShare: 0.9,
  tenantJoinedTicks: 2,
  tenantFlapMs: 300_000,
  tenantSettledMarginMs: 10,
  tenantStartupMs: 2_000,
  tenantGapMs: 1_000,
  tenantPassGapMs: 100,
  tenantLetGoMs: 5_000,
  tenantLetGoTriesMax: 60,
  tenantBalanceShare: 0.05,
  tenantsMax: 100_000,
  tenantRowsMax: 500,
  tenantRestartMs: 1_000,
  tenantRestartMsMax: 60_000,
  tenantIdleMs: 300_000,
  tenantSureShare: 0.667,
  hotTimeoutMs: 15_000,
  tenantTimeoutMs: 10_000,
  taskConcurrency: 8,
  taskConcurrencyMax: 1_000,
  taskTriesMax: 3,
  taskTimeoutMs: 900_000,
  fanOutWaitMs: 60_000,
  fanOutPollMs: 1_000,
  loopingStarts: 4,
  loopingMs: 300_000,
  housekeepingMs: 30_000,
  loopSleepMsMax: 60_000,
  loopBackoffMs: 50,
  loopBackoffMsMax: 1_000,
  connectionsReserved: 2,
  transactionIdleMs: 300_000,
  transactionWaitMs: 60_000,
  transactionStatementTimeoutMs: null,
  transactionStatementTimeoutMsMax: 86_400_000,
  transactionAnswerGraceMs: 5_000,
  closeWaitMs: 1_000,
  lookAgainKeysMax: 2_000,
  roundShare: 0.05,
  migrateFirstLockMs: 100,
  migrateLockTimeoutMs: 900,
  migrateTriesMax: 60,
  connectionsMax: 10,
  connectTimeoutMs: 10_000,
  connectLimitMs: 15_000,
  connectLimitMsMax: 3_600_000,
  keepAliveMs: 30_000,
  statementTimeoutMs: 60_000,
  archiveDaysAhead: 7,
  archiveStraysMax: 1_000,
  archiveStepsMax: 60,
  dropDaysMax: 200,
  sweepBucketsMin: 8,
  sweepBucketsMax: 64,
  sweepCallMs: 25,
  sweepPassesMax: 20,
  sweepMsMax: 500,
  expireRowsMax: 10_000,
  expirePassesMax: 100,
  deadLetterRowsMax: 1_000,
  handledRetentionMs: 2_592_000_000,
  unhandledRowsMax: 10_000,
  fenceRetentionMs: 2_592_000_000,
  samplesKeepMs: 604_800_000,
  sampleBytesMax: 33_554_432,
  listLimit: 100,
  listLimitMax: 1_000,
  operateBatchRows: 1_000,
  operateRowsMax: 1_000_000,
  auditRowsMax: 20,
  auditLateMs: 60_000,
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

export function asFunction<T>(option: string, value: T): T {
  if (typeof value !== "function") throw new InvalidOptionError(option, value, "a function");
  return value;
}

export function oneOf<T extends string>(
  option: string,
  value: T | null | undefined,
  allowed: readonly T[],
  fallback: T,
): T {
  if (value === undefined) return fallback;
  if (value === null || !allowed.includes(value))
    throw new InvalidOptionError(option, value, `one of ${allowed.join(", ")}`);
  return value;
}

export function flag(option: string, value: boolean | undefined, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value !== "boolean") throw new InvalidOptionError(option, value, "true or false");
  return value;
}
