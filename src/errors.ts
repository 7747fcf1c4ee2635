/**
 * Every error the library raises. Each has a class, a stable code, a message that says what happened to which id and what to
 * do, and a line in the table of error-table.ts, which docs/errors.md repeats (a test keeps the two equal).
 */

export class LeaseholdError extends Error {
  readonly code: string;
  /** Which of the jobs given to enqueueMany() is at fault, counted from 0. */
  declare readonly jobIndex?: number;

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
    super(
      "LH_INVALID_OPTION",
      `The option ${withoutPassword(option)} is ${quoted(value)}; it must be ${expected}.`,
    );
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
  constructor(queue: string, schema: string, options?: ErrorOptions) {
    super(
      "LH_UNKNOWN_QUEUE",
      `There is no queue ${quoted(queue)} in the schema ${quoted(schema)}: it was never created, or was dropped. Create it with lh.queue(${quoted(queue)}, { order: "key" }) or { order: "none" }.`,
      options,
    );
  }
}

/** A queue exists with other settings than those asked for. */
export class QueueMismatchError extends LeaseholdError {
  constructor(queue: string, differences: readonly string[]) {
    super(
      "LH_QUEUE_MISMATCH",
      `The queue ${quoted(queue)} exists with other settings: ${differences.join("; ")}. They are fixed when a queue is created: ask for the stored settings, or leave the option out.`,
    );
  }
}

/** A queue that can't be dropped, because somebody works on it or it has jobs. */
export class QueueInUseError extends LeaseholdError {
  readonly workers: readonly string[];

  constructor(queue: string, workers: readonly string[], hasJobs: boolean) {
    const reasons = [
      ...(workers.length > 0 ? [`workers are alive on it (${workers.slice(0, 5).join(", ")})`] : []),
      ...(hasJobs ? ["it has jobs that are not finished, or dead letters"] : []),
    ];
    super(
      "LH_QUEUE_IN_USE",
      `The queue ${quoted(queue)} was not dropped: ${reasons.join(", and ")}. Stop the workers and let them drain it, or discard its jobs; or pass { force: true } to lose them.`,
    );
    this.workers = workers;
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
  constructor(schema: string, missing: string, options?: ErrorOptions) {
    super(
      "LH_NOT_MIGRATED",
      `The schema ${quoted(schema)} is not up to date: ${missing}. Call lh.migrate() with a role that owns the schema.`,
      options,
    );
  }
}

/** The schema was migrated by a newer version of the library, which this one can't follow. */
export class OutdatedLibraryError extends LeaseholdError {
  constructor(
    schema: string,
    { own, revision, oldest }: { readonly own: number; readonly revision: number; readonly oldest: number },
    what: string,
  ) {
    super(
      "LH_OUTDATED_LIBRARY",
      `The schema ${quoted(schema)} has revision ${revision} and can be used from revision ${oldest} on; this version of the library has ${own} and can't ${what}. Run the version that migrated the schema, or a later one. Nothing was changed.`,
    );
  }
}

/** The schema is not where its fence tokens were drawn. */
export class RestoredSchemaError extends LeaseholdError {
  constructor(schema: string) {
    super(
      "LH_RESTORED",
      `The schema ${quoted(schema)} was loaded from a dump, copied or moved to where it is now, so its fence tokens may repeat. Stop whatever works on the original, then call acceptRestore() once. Nothing was changed.`,
    );
  }
}

/** The replica is not one of the primary's, so its answers would be about something else. */
export class ReplicaMismatchError extends LeaseholdError {
  constructor(reason: string) {
    super("LH_REPLICA_MISMATCH", `The replica can't be used: ${reason}. replicaUrl takes a standby.`);
  }
}

export class MigrationError extends LeaseholdError {
  /** `what` names the step and says why it failed. */
  constructor(what: string, options?: ErrorOptions) {
    super("LH_MIGRATION_FAILED", `The migration did not run: ${what}. What ran before it stays.`, options);
  }
}

/** The role that we are connected as lacks a right. */
export class MissingRightError extends LeaseholdError {
  readonly right: string;

  constructor(
    right: string,
    what: string,
    { action, ...options }: ErrorOptions & { readonly action: string },
  ) {
    const message = `The right ${right} is missing, so ${what}. Nothing was changed. ${action}.`;
    super("LH_MISSING_RIGHT", message, options);
    this.right = right;
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

/** The attempt has completed its job before: by job.transaction, or by complete(). */
export class AlreadyCompletedError extends LeaseholdError {
  readonly jobId: string;

  constructor(jobId: string) {
    super(
      "LH_ALREADY_COMPLETED",
      `The job ${jobId} is completed already: job.transaction commits the completion with its writes, once. Nothing of this call was written. Put all writes into one job.transaction, or use lh.transaction for what comes after it. If this is the only one, an await is missing before it.`,
    );
    this.jobId = jobId;
  }
}

/** A `tx` that is not a transaction, or not one any more. */
export class InvalidTxError extends LeaseholdError {
  constructor(reason: string) {
    super(
      "LH_INVALID_TX",
      `The tx can't be used: ${reason}. It must be an open transaction with query(text, values) that resolves with { rows }, such as a pg client after BEGIN; docs/transactions.md shows how to wrap others.`,
    );
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

/** The server, or the driver before it, refused the connection for a reason that waiting does not cure. */
export class ConnectRefusedError extends LeaseholdError {
  /** The server's reason; null when it was the driver's. */
  readonly sqlState: string | null;

  constructor(place: string, reason: string, options: ErrorOptions & { readonly sqlState: string | null }) {
    const state = options.sqlState === null ? "" : ` (${options.sqlState})`;
    super(
      "LH_CONNECT_REFUSED",
      `The connection as ${place} was refused${state}: ${reason}. Correct the URL, the options of the pool, or the server.`,
      options,
    );
    this.sqlState = options.sqlState;
  }
}

/** The database could not be reached, or the connection broke. */
export class DatabaseUnavailableError extends LeaseholdError {
  /** True when the statement may have committed all the same. */
  readonly isAmbiguous: boolean;

  constructor(
    statement: string,
    isAmbiguous: boolean,
    options?: ErrorOptions & { readonly inTransaction?: boolean; readonly advice?: string },
  ) {
    const cause = options?.cause instanceof Error ? ` (${wordsOf(options.cause)})` : "";
    const what = statement.replace(/^lh_(.+)_[0-9a-f]{8}$/, "$1");
    const unanswered = `No answer came from the database for ${what}${cause}.`;
    let words = `The database could not be reached for ${what}${cause}. It did not run.`;
    const advice = options?.advice ?? "Whether it committed is not known; the call may be repeated.";
    if (isAmbiguous) words = `${unanswered} ${advice}`;
    else if (options?.inTransaction === true)
      words = `${unanswered} It may have run, but its transaction is not committed; the transaction may be repeated.`;
    super("LH_DATABASE_UNAVAILABLE", words, options);
    this.isAmbiguous = isAmbiguous;
  }
}

/** The database answered with an error that repeating does not cure. */
export class DatabaseRefusedError extends LeaseholdError {
  readonly sqlState: string;

  constructor(statement: string, sqlState: string, reason: string, options?: ErrorOptions) {
    const code = sqlState === "25006" ? "LH_READ_ONLY_SERVER" : "LH_DATABASE_REFUSED";
    const advice = sqlState === "42501" ? ". docs/operating.md says what each role may do." : "";
    super(code, `The database refused ${statement} (${sqlState}): ${reason}${advice}`, options);
    this.sqlState = sqlState;
  }
}

/** The server is a standby, or has been demoted to one. */
export class ReadOnlyServerError extends DatabaseRefusedError {
  constructor(statement: string, reason: string, options?: ErrorOptions) {
    const advice = "The server is read-only: a standby, or a demoted primary. Connect to the primary.";
    super(statement, "25006", `${reason}. ${advice}`, options);
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
  constructor(what: string, options?: ErrorOptions) {
    super("LH_CLOSED", `${what} is closed. Connect again before you use it.`, options);
  }
}

export class EmbeddedPostgresError extends LeaseholdError {
  constructor(message: string, options?: ErrorOptions) {
    super("LH_EMBEDDED_POSTGRES", message, options);
  }
}

/** Another process runs the tenant, or is to run it. Ask there, or go on to the next one. */
export class NotOwnerError extends LeaseholdError {
  readonly tenant: string;
  /** The worker id of the owner; null when nobody is. */
  readonly owner: string | null;

  constructor(tenant: string, owner: string | null) {
    const who = owner === null ? "nobody owns it now" : `the worker ${quoted(owner)} owns it`;
    super("LH_NOT_OWNER", `The tenant ${quoted(tenant)} is not this process's: ${who}. Nothing was started.`);
    this.tenant = tenant;
    this.owner = owner;
  }
}

/** The reason of a tenant's signal: this process must not act for it any more. */
export class TenantEndedError extends LeaseholdError {
  readonly tenant: string;
  readonly reason: string;

  constructor(tenant: string, reason: string) {
    super(
      "LH_TENANT_ENDED",
      `The tenant ${quoted(tenant)} ends on this process (${reason}). Stop, and write nothing more under its token.`,
    );
    this.tenant = tenant;
    this.reason = reason;
  }
}

/** An error for several addresses of one host has no message of its own. */
function wordsOf(error: Error): string {
  const parts: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  return error.message || parts.map((part) => (part as Error).message).join(", ") || error.name;
}

function quoted(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid date" : value.toISOString();
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(typeof value === "string" ? withoutPassword(value) : value) ?? "undefined";
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** No message shows more of a value; what is searched for passwords is bounded, so that a long hostile text costs no time. */
const quotedMax = 2_000;

/** A text without what looks like a password: in URLs, their queries, and connection strings of words. Users give addresses where something else is expected, and messages go to logs. */
function withoutPassword(text: string): string {
  // Where the text is cut, a password may go on: the cut counts as its end.
  const searched = text.length > quotedMax ? `${text.slice(0, quotedMax)}@` : text;
  return searched
    .replace(/([a-z][a-z0-9+.-]{0,30}:\/\/).*@/gis, "$1***@")
    .replace(/(\bpassword\s*=\s*)(?:'[^']*'?|[^\s&]*)/gi, "$1***");
}
