/** Every error once more, for people: what its code means and what to do. */

export interface ErrorEntry {
  readonly code: string;
  readonly class: string;
  readonly meaning: string;
  readonly action: string;
}

const entry = (code: string, name: string, meaning: string, action: string): ErrorEntry =>
  Object.freeze({ code, class: name, meaning, action });

export const errorTable: readonly ErrorEntry[] = Object.freeze([
  entry(
    "LH_INVALID_NAME",
    "InvalidNameError",
    "a schema or queue name outside of `^[a-z_][a-z0-9_]{0,47}$`, or a reserved one",
    "choose another name",
  ),
  entry(
    "LH_INVALID_OPTION",
    "InvalidOptionError",
    "an option of the wrong type, out of range, or of a name that is not known",
    "read the range, or the nearest name, in the message",
  ),
  entry(
    "LH_INVALID_PAYLOAD",
    "InvalidPayloadError",
    "a payload or header that would not come back equal: NUL, lone surrogate, cycle, BigInt, undefined (other than as the value of a property, which is left out), NaN, Date, Map, nesting over 100",
    "convert the value at the path named",
  ),
  entry(
    "LH_PAYLOAD_TOO_LARGE",
    "PayloadTooLargeError",
    "a payload over the limit (64 KB)",
    "store the data elsewhere and enqueue a pointer",
  ),
  entry(
    "LH_INVALID_KEY",
    "InvalidKeyError",
    "an empty or too long kind, partition key or idempotency key, or one with NUL or a lone surrogate",
    "shorten or clean it",
  ),
  entry(
    "LH_UNKNOWN_QUEUE",
    "UnknownQueueError",
    "a queue that was never created, or was dropped",
    "create it with lh.queue(name, { order })",
  ),
  entry(
    "LH_QUEUE_MISMATCH",
    "QueueMismatchError",
    "a queue that exists with another order or other settings that are fixed",
    "ask for the stored ones, or leave the option out",
  ),
  entry(
    "LH_QUEUE_IN_USE",
    "QueueInUseError",
    "a queue that was to be dropped has live workers or jobs",
    "stop the workers, let them drain it, or pass { force: true }",
  ),
  entry(
    "LH_RING_MISMATCH",
    "RingMismatchError",
    "a queue whose buckets are spread by a hash that this version does not know",
    "run the version that the other workers run",
  ),
  entry(
    "LH_NOT_MIGRATED",
    "NotMigratedError",
    "the schema is missing or older than the library",
    "call lh.migrate()",
  ),
  entry(
    "LH_RESTORED",
    "RestoredSchemaError",
    "the schema was loaded from a dump, copied or moved to where it is now, so fence tokens may repeat",
    "stop whatever works on the original, then call acceptRestore() once",
  ),
  entry(
    "LH_REPLICA_MISMATCH",
    "ReplicaMismatchError",
    "`replicaUrl` leads to another system, or to another database, than the primary",
    "let it lead to a physical standby of the primary, and to the same database",
  ),
  entry(
    "LH_OUTDATED_LIBRARY",
    "OutdatedLibraryError",
    "the schema was migrated by a newer version of the library, and this one may not change it, or not work on it any more",
    "run the newer version",
  ),
  entry(
    "LH_MIGRATION_FAILED",
    "MigrationError",
    "a migration could not run, for instance because a lock could not be acquired in time",
    "call lh.migrate() again; it goes on where it stopped",
  ),
  entry(
    "LH_MISSING_RIGHT",
    "MissingRightError",
    "a queue was to be created, changed or dropped, or the schema migrated, by a role that does not own the schema; or lh.grant() was called without CREATEROLE while roles are missing",
    "do it as the owner of the schema; for lh.grant(), let an administrator create the roles named in the message",
  ),
  entry(
    "LH_UNSUPPORTED_SERVER",
    "UnsupportedServerError",
    "a server older than PostgreSQL 14, or a setting of its role or database that the library can't work with",
    "upgrade the server, or change the setting that the message names",
  ),
  entry(
    "LH_LEASE_LOST",
    "LeaseLostError",
    "the row is no longer this worker's under this token",
    "stop and write nothing more",
  ),
  entry(
    "LH_ALREADY_COMPLETED",
    "AlreadyCompletedError",
    "a second job.transaction of an attempt, or a settle after the first",
    "put all writes into one job.transaction, or use lh.transaction afterwards",
  ),
  entry(
    "LH_INVALID_TX",
    "InvalidTxError",
    "a `tx` that has no query(text, values) with { rows }, is a pool, has ended, or was ended by a statement of yours",
    "pass a client in a transaction, or wrap what you have as docs/transactions.md shows",
  ),
  entry("LH_STALE_FENCE", "StaleFenceError", "a resource has seen a higher fence token", "roll back"),
  entry(
    "LH_HANDLER_TIMEOUT",
    "HandlerTimeoutError",
    "a handler took longer than its timeout",
    "pass job.signal on, or raise handlerTimeoutMs",
  ),
  entry(
    "LH_DRAINED",
    "DrainedError",
    "the worker stops and the handler did not finish within the drain limit",
    "nothing: the job goes back and uses no attempt; raise drainLimitMs if it happens often",
  ),
  entry(
    "LH_WORKER_STATE",
    "WorkerStateError",
    "a worker was started twice, or two workers of one process on one queue",
    "make one worker a queue, and start it once",
  ),
  entry(
    "LH_UNKNOWN_WORKER",
    "UnknownWorkerError",
    "an eviction of a worker that is not registered or already dead",
    "look at lh.workers()",
  ),
  entry(
    "LH_NOT_OWNER",
    "NotOwnerError",
    "a tenant was to be promoted, demoted or worked for on a process that does not own it",
    "ask the owner named, or go on to the next tenant",
  ),
  entry(
    "LH_TENANT_ENDED",
    "TenantEndedError",
    "the reason of a tenant's signal: it moves, is idle, its process stops or has lost its lease",
    "stop what runs for the tenant",
  ),
  entry(
    "LH_CONNECT_REFUSED",
    "ConnectRefusedError",
    "the server or the driver refused the login: password, role, database, settings or TLS",
    "read the reason; correct the URL, the options of the pool, or the server",
  ),
  entry(
    "LH_DATABASE_UNAVAILABLE",
    "DatabaseUnavailableError",
    "the connection could not be made or broke, or no answer came in time",
    "repeat the call; a repeated enqueue should carry an idempotency key",
  ),
  entry(
    "LH_DATABASE_REFUSED",
    "DatabaseRefusedError",
    "an SQL error that repeating does not cure",
    "read sqlState and the message",
  ),
  entry(
    "LH_READ_ONLY_SERVER",
    "ReadOnlyServerError",
    "a call that writes, and workers, on a server that is read-only: a standby, or a demoted primary",
    "connect to the primary; reads work on a standby too",
  ),
  entry(
    "LH_ENQUEUE_BLOCKED",
    "EnqueueBlockedError",
    "an idempotency key, or a partition key of a strict queue, is held by an open transaction",
    "enqueue again when it has ended",
  ),
  entry(
    "LH_CLOSED",
    "ClosedError",
    "use after close(), or after the end of a pool of yours",
    "connect again; close before you end the pool",
  ),
  entry(
    "LH_EMBEDDED_POSTGRES",
    "EmbeddedPostgresError",
    "the embedded server could not be found or started",
    "read the message; install leasehold-dev, or connect to a server of your own",
  ),
]);
