export { acceptRestore, type ConnectOptions, connect } from "./connect.js";
export type { DropQueueOptions } from "./database/drop-queue.js";
export { type ErrorEntry, errorTable } from "./error-table.js";
export {
  AlreadyCompletedError,
  ClosedError,
  ConnectRefusedError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
  DrainedError,
  EmbeddedPostgresError,
  EnqueueBlockedError,
  HandlerTimeoutError,
  InvalidKeyError,
  InvalidNameError,
  InvalidOptionError,
  InvalidPayloadError,
  InvalidTxError,
  LeaseholdError,
  LeaseLostError,
  MigrationError,
  MissingRightError,
  NotMigratedError,
  NotOwnerError,
  OutdatedLibraryError,
  PayloadTooLargeError,
  QueueInUseError,
  QueueMismatchError,
  RestoredSchemaError,
  RingMismatchError,
  StaleFenceError,
  TenantEndedError,
  UnknownQueueError,
  UnknownWorkerError,
  UnsupportedServerError,
  WorkerStateError,
} from "./errors.js";
export type { EventMap, EventName, Events, Listener } from "./events.js";
export type { Leasehold } from "./leasehold.js";
export { type Logger, logEvents } from "./log-events.js";
export type { MemberOptions } from "./membership/member-settings.js";
export type { Ring } from "./membership/ring.js";
export { shardKey } from "./membership/shard-key.js";
export type { AuditReport, AuditRule, Breach, BreachRow } from "./operate/audit.js";
export type { Progress } from "./operate/batches.js";
export type { QueueChange } from "./operate/change-queue.js";
export type { DiscardFilter, JobFilter, ListFilter } from "./operate/job-filter.js";
export type { QueueStats } from "./operate/stats.js";
export type { Why } from "./operate/why.js";
export type { WorkerRow } from "./operate/workers.js";
export type { Tx } from "./seams/database.js";
export { defaults } from "./settings.js";
export type { ClaimOptions } from "./work/claim-options.js";
export type { Enqueued } from "./work/enqueue.js";
export type { Handler, Handlers, KindRules, Middleware } from "./work/handlers.js";
export type { HousekeepingReport } from "./work/housekeeping.js";
export type { AttemptError, ClaimedJob, JobRecord, JobStatus, WorkingJob } from "./work/job.js";
export type { KindPolicies, KindPolicy } from "./work/kind-policies.js";
export type { EnqueueOptions } from "./work/new-job.js";
export { complete, DeadLetter, type Outcome, RetryAfter, release } from "./work/outcome.js";
export type { HeldJob, InTransaction, Queue } from "./work/queue.js";
export type { QueueOptions, QueueSettings } from "./work/queue-settings.js";
export type { Renewal } from "./work/renew.js";
export { deadLetter, retryAfter } from "./work/retry-after.js";
export type { Settlement } from "./work/settlement.js";
export type { ClaimedJobOf, JobInput, JobRecordOf, JobTypes } from "./work/typed-jobs.js";
export type { Worker, WorkerState } from "./work/worker.js";
export type { WorkerOptions } from "./work/worker-settings.js";
