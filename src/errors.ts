/**
 * Every error the library raises. Each has a class, a stable code, a message that says what happened to which id and what to
 * do, and a line in errorTable, which docs/errors.md repeats (a test keeps the two equal).
 */

export class LeaseholdError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}

/** A schema or queue name that may not be put into SQL. */
export class InvalidNameError extends LeaseholdError {
  constructor(what: string, name: unknown, reason: string) {
    super("LH_INVALID_NAME", `The ${what} name ${quoted(name)} can't be used: ${reason}.`);
  }
}

/** An option with a value outside of its range, or of the wrong type. */
export class InvalidOptionError extends LeaseholdError {
  readonly option: string;

  constructor(option: string, value: unknown, expected: string) {
    super("LH_INVALID_OPTION", `The option ${option} is ${quoted(value)}; it must be ${expected}.`);
    this.option = option;
  }
}

/** A payload or headers object that does not come back from the database as it was. */
export class InvalidPayloadError extends LeaseholdError {
  readonly path: string;

  constructor(path: string, reason: string) {
    super("LH_INVALID_PAYLOAD", `The value at ${path} can't be stored: ${reason}. Nothing was written.`);
    this.path = path;
  }
}

export class PayloadTooLargeError extends LeaseholdError {
  constructor(what: string, bytes: number | string, limit: number) {
    super(
      "LH_PAYLOAD_TOO_LARGE",
      `The ${what} has ${bytes} bytes as JSON, the limit is ${limit}. Store the data elsewhere and enqueue a pointer to it, or split it. Nothing was written.`,
    );
  }
}

/** A partition key, idempotency key or kind that is empty, too long or not storable. */
export class InvalidKeyError extends LeaseholdError {
  constructor(what: string, value: unknown, reason: string) {
    super("LH_INVALID_KEY", `The ${what} ${quoted(value)} can't be used: ${reason}. Nothing was written.`);
  }
}

export class UnknownQueueError extends LeaseholdError {
  constructor(queue: string, schema: string) {
    super(
      "LH_UNKNOWN_QUEUE",
      `There is no queue ${quoted(queue)} in the schema ${quoted(schema)}. Create it with lh.queue(${quoted(queue)}, { order: "key" }) or { order: "none" }.`,
    );
  }
}

/** A queue exists with other settings than those asked for. */
export class QueueMismatchError extends LeaseholdError {
  constructor(queue: string, differences: readonly string[]) {
    super(
      "LH_QUEUE_MISMATCH",
      `The queue ${quoted(queue)} exists with other settings: ${differences.join("; ")}. Ask for the stored settings, or leave the option out.`,
    );
  }
}

/** The queue's buckets are spread by a hash that this version of the library does not know. */
export class RingMismatchError extends LeaseholdError {
  constructor(queue: string, stored: string, known: string) {
    super(
      "LH_RING_MISMATCH",
      `The queue ${quoted(queue)} spreads its buckets with the hash ${quoted(stored)}; this version knows ${quoted(known)}. Run the version that the other workers run.`,
    );
  }
}

export class NotMigratedError extends LeaseholdError {
  constructor(schema: string, missing: string) {
    super(
      "LH_NOT_MIGRATED",
      `The schema ${quoted(schema)} is not up to date: ${missing}. Call lh.migrate() with a role that owns the schema.`,
    );
  }
}

export class MigrationError extends LeaseholdError {
  /** `what` names the step and says why it failed. */
  constructor(what: string, options?: ErrorOptions) {
    super("LH_MIGRATION_FAILED", `The migration did not run: ${what}. What ran before it stays.`, options);
  }
}

export class UnsupportedServerError extends LeaseholdError {
  constructor(reason: string) {
    super("LH_UNSUPPORTED_SERVER", `The server can't be used: ${reason}.`);
  }
}

/** The row is no longer this worker's under this token: somebody else may be working on it. Stop, and write nothing more. */
export class LeaseLostError extends LeaseholdError {
  readonly jobId: string;

  constructor(jobId: string, fenceToken: bigint) {
    super(
      "LH_LEASE_LOST",
      `The lease on job ${jobId} under token ${fenceToken} is lost: it ran out or was taken over. Nothing of this attempt was settled.`,
    );
    this.jobId = jobId;
  }
}

export class StaleFenceError extends LeaseholdError {
  readonly resource: string;

  constructor(resource: string, token: bigint, seen: bigint) {
    super(
      "LH_STALE_FENCE",
      `The resource ${quoted(resource)} has seen token ${seen}; token ${token} is older. Roll back: a later owner is at work.`,
    );
    this.resource = resource;
  }
}

/** A handler took longer than its timeout; the reason of its signal. */
export class HandlerTimeoutError extends LeaseholdError {
  constructor(jobId: string, timeoutMs: number) {
    super(
      "LH_HANDLER_TIMEOUT",
      `The handler of job ${jobId} took longer than ${timeoutMs} ms. The attempt failed; pass job.signal to what the handler waits for.`,
    );
  }
}

/** The worker stops and could not wait any longer; the reason of the signal of what still runs. */
export class DrainedError extends LeaseholdError {
  constructor(jobId: string, limitMs: number) {
    super(
      "LH_DRAINED",
      `The worker is stopping and job ${jobId} did not finish within ${limitMs} ms. It goes back to the queue and uses no attempt.`,
    );
  }
}

/** A worker that can't be started, or not a second time. */
export class WorkerStateError extends LeaseholdError {
  constructor(what: string) {
    super("LH_WORKER_STATE", what);
  }
}

export class UnknownWorkerError extends LeaseholdError {
  constructor(workerId: string) {
    super(
      "LH_UNKNOWN_WORKER",
      `No live worker has the id ${quoted(workerId)}. lh.workers() lists those that are known.`,
    );
  }
}

/** The database could not be reached, or the connection broke. */
export class DatabaseUnavailableError extends LeaseholdError {
  /** True when the statement may have committed all the same. */
  readonly isAmbiguous: boolean;

  constructor(statement: string, isAmbiguous: boolean, options?: ErrorOptions) {
    const outcome = isAmbiguous
      ? "Whether it committed is not known; the call may be repeated."
      : "It did not run.";
    const cause = options?.cause instanceof Error ? ` (${options.cause.message || options.cause.name})` : "";
    const what = statement.replace(/^lh_(.+)_[0-9a-f]{8}$/, "$1");
    super("LH_DATABASE_UNAVAILABLE", `The database was lost during ${what}${cause}. ${outcome}`, options);
    this.isAmbiguous = isAmbiguous;
  }
}

/** The database answered with an error that repeating does not cure. */
export class DatabaseRefusedError extends LeaseholdError {
  readonly sqlState: string;

  constructor(statement: string, sqlState: string, reason: string, options?: ErrorOptions) {
    super("LH_DATABASE_REFUSED", `The database refused ${statement} (${sqlState}): ${reason}`, options);
    this.sqlState = sqlState;
  }
}

export class EnqueueBlockedError extends LeaseholdError {
  constructor(key: string, options: ErrorOptions & { readonly waitedMs: number }) {
    super(
      "LH_ENQUEUE_BLOCKED",
      `The key ${quoted(key)} is held by an open transaction; gave up after ${options.waitedMs} ms. Nothing was written; enqueue again when that transaction has ended.`,
      options,
    );
  }
}

export class ClosedError extends LeaseholdError {
  constructor(what: string) {
    super("LH_CLOSED", `${what} is closed. Connect again before you use it.`);
  }
}

export class EmbeddedPostgresError extends LeaseholdError {
  constructor(message: string, options?: ErrorOptions) {
    super("LH_EMBEDDED_POSTGRES", message, options);
  }
}

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
    "an option of the wrong type or out of range",
    "read the range in the message",
  ),
  entry(
    "LH_INVALID_PAYLOAD",
    "InvalidPayloadError",
    "a payload or header that would not come back equal: NUL, lone surrogate, cycle, BigInt, undefined, NaN, Date, Map, nesting over 100",
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
    "a queue that was never created",
    "create it with lh.queue(name, { order })",
  ),
  entry(
    "LH_QUEUE_MISMATCH",
    "QueueMismatchError",
    "a queue that exists with other settings",
    "ask for the stored ones or leave the option out",
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
    "LH_MIGRATION_FAILED",
    "MigrationError",
    "a migration could not run, for instance because a lock was not to be had in time",
    "call lh.migrate() again; it goes on where it stopped",
  ),
  entry(
    "LH_UNSUPPORTED_SERVER",
    "UnsupportedServerError",
    "a server older than PostgreSQL 14, or one that writes dates in another style than ISO",
    "upgrade the server, or set datestyle to ISO for the role",
  ),
  entry(
    "LH_LEASE_LOST",
    "LeaseLostError",
    "the row is no longer this worker's under this token",
    "stop and write nothing more",
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
    "LH_DATABASE_UNAVAILABLE",
    "DatabaseUnavailableError",
    "the connection could not be made or broke",
    "repeat the call; a repeated enqueue should carry an idempotency key",
  ),
  entry(
    "LH_DATABASE_REFUSED",
    "DatabaseRefusedError",
    "an SQL error that repeating does not cure",
    "read sqlState and the message",
  ),
  entry(
    "LH_ENQUEUE_BLOCKED",
    "EnqueueBlockedError",
    "an idempotency key, or a partition key of a strict queue, is held by an open transaction",
    "enqueue again when it has ended",
  ),
  entry("LH_CLOSED", "ClosedError", "use after close()", "connect again"),
  entry(
    "LH_EMBEDDED_POSTGRES",
    "EmbeddedPostgresError",
    "the embedded server could not be found or started",
    "read the message; DATABASE_URL wins when set",
  ),
]);

function quoted(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid date" : value.toISOString();
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value) ?? "undefined";
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
