export type { PostgresPool } from "./checked-pool.js";
export { acceptRestore, type ConnectOptions, connect } from "./connect.js";
export type { DropQueueOptions } from "./database/drop-queue.js";
export type { PlannedMigration } from "./database/migration-plan.js";
export type { ReplicaStatus } from "./database/replica.js";
export { runbook } from "./database/runbook.generated.js";
export type { RunbookColumn, RunbookEntry, RunbookParameter } from "./database/runbook-entry.js";
export { type Diagnosis, diagnose } from "./doctor/diagnose.js";
export { type Finding, type FindingCode, findingCodes, type Severity } from "./doctor/finding.js";
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
  ReadOnlyServerError,
  ReplicaMismatchError,
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
export type { HistoryEntry, HistoryFilter } from "./history/read.js";
export type { Leasehold } from "./leasehold.js";
export { type Logger, type LogLevel, logEvents } from "./log-events.js";
export type { WorkerLoad } from "./membership/load.js";
export type { MemberOptions } from "./membership/member-settings.js";
export type { Ring } from "./membership/ring.js";
export { shardKey } from "./membership/shard-key.js";
export type { AuditReport, AuditRule, Breach, BreachRow } from "./operate/audit.js";
export type { Progress } from "./operate/batches.js";
export type { DeadLetterGroup, DeadLetterGroups, DeadLetterOptions } from "./operate/dead-letters.js";
export type { HealthCheck, HealthReport } from "./operate/health.js";
export type { DiscardFilter, JobFilter, ListFilter } from "./operate/job-filter.js";
export type { KeyOwner } from "./operate/owner-of.js";
export type { MovedBucket, RingChange, RingPreview } from "./operate/preview-ring.js";
export type { QueueSummary } from "./operate/queues.js";
export type { Durations, RecentWork } from "./operate/recent.js";
export { type RunbookAnswer, type RunbookOptions, runbookSql } from "./operate/runbook.js";
export type { QueueSample, SampleRange } from "./operate/samples.js";
export type { SearchPage } from "./operate/search.js";
export type { SearchFilter } from "./operate/search-filter.js";
export type { QueueStats, StatsOptions } from "./operate/stats.js";
export type { TenantFilter, TenantRow } from "./operate/tenants.js";
export type { Why } from "./operate/why.js";
export type { WorkerRow } from "./operate/workers.js";
export type { OpenTx, Tx } from "./seams/database.js";
export { defaults } from "./settings.js";
export type { ClaimOptions } from "./work/claim-options.js";
export type { Enqueued } from "./work/enqueue.js";
export type { ClaimCause, Counts, Figures, RecentFigures } from "./work/figures.js";
export type { Handler, Handlers, KindRules, Middleware } from "./work/handlers.js";
export type { Histogram } from "./work/histogram.js";
export type { HousekeepingReport } from "./work/housekeeping.js";
export type { AttemptError, ClaimedJob, JobRecord, JobStatus, WorkingJob } from "./work/job.js";
export type { KindPolicies, KindPolicy } from "./work/kind-policies.js";
export type { EnqueueOptions } from "./work/new-job.js";
export { complete, DeadLetter, type Outcome, RetryAfter, release } from "./work/outcome.js";
export type { AnyQueue, HeldJob, InTransaction, Queue } from "./work/queue.js";
export type { QueueChange, QueueOptions } from "./work/queue-options.js";
export type { QueueSettings } from "./work/queue-settings.js";
export type { Renewal } from "./work/renew.js";
export { deadLetter, retryAfter } from "./work/retry-after.js";
export type { Settlement } from "./work/settlement.js";
export type { ClaimedJobOf, JobInput, JobRecordOf, JobTypes } from "./work/typed-jobs.js";
export type { Worker, WorkerState } from "./work/worker.js";
export type { WorkerOptions } from "./work/worker-settings.js";
