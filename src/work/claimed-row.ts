import type { ClaimRow } from "../database/rows.js";
import { AlreadyCompletedError, LeaseLostError } from "../errors.js";
import type { OpenTx } from "../seams/database.js";
import type { ClaimedJob, WorkingJob } from "./job.js";
import { JobTransaction } from "./job-transaction.js";

/** What all rows of one claim have in common. */
export interface ClaimShares {
  readonly queue: string;
  readonly workerId: string;
  readonly token: bigint;
  readonly claimedAt: Date;
  readonly leaseExpiresAt: Date;
  complete(job: ClaimedJob): ClaimedJob["transaction"];
}

/** The worker's part in a row that it holds. */
export interface Holder {
  readonly signal: AbortSignal;
  readonly isLost: boolean;
  isSettled: boolean;
  /** A job.transaction was called. */
  noteTransaction(transaction: JobTransaction<unknown>): void;
}

/**
 * A claimed row as callers and handlers see it, made once for each job: a class, because copying and freezing an object of two dozen properties twice cost more
 * than everything else that happens to a job in this process.
 */
export class ClaimedRow implements WorkingJob {
  readonly id: string;
  readonly kind: string;
  readonly payload: unknown;
  readonly partitionKey: string;
  readonly bucket: number;
  readonly seq: bigint;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly crashes: number;
  readonly priority: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly availableAt: Date;
  readonly createdAt: Date;
  readonly idempotencyKey: string | null;
  readonly lastError: string | null;
  readonly queue: string;
  readonly workerId: string;
  readonly fenceToken: bigint;
  readonly claimedAt: Date;
  readonly leaseExpiresAt: Date;
  readonly #shares: ClaimShares;
  readonly #dueMs: number;
  #holder: Holder | null = null;
  #isCompleted = false;

  constructor(row: ClaimRow & { readonly id: string }, shares: ClaimShares) {
    this.id = row.id;
    this.kind = row.kind ?? "";
    this.payload = row.payload;
    this.partitionKey = row.partition_key ?? "";
    this.bucket = row.partition_bucket ?? 0;
    this.seq = BigInt(row.seq ?? 0);
    this.attempt = row.attempts ?? 0;
    this.maxAttempts = row.max_attempts ?? 0;
    this.crashes = row.crashes ?? 0;
    this.priority = row.priority ?? 0;
    this.headers = (row.headers ?? noHeaders) as Record<string, unknown>;
    this.createdAt = new Date(row.created_ms ?? 0);
    this.availableAt = row.available_ms === null ? this.createdAt : new Date(row.available_ms);
    this.idempotencyKey = row.idempotency_key;
    this.lastError = row.last_error;
    this.queue = shares.queue;
    this.workerId = shares.workerId;
    this.fenceToken = shares.token;
    this.claimedAt = shares.claimedAt;
    this.leaseExpiresAt = shares.leaseExpiresAt;
    this.#shares = shares;
    this.#dueMs = row.available_ms ?? row.created_ms ?? 0;
    Object.freeze(this);
  }

  /** When it was due, to the microsecond; a Date has milliseconds. */
  static dueMsOf(row: ClaimedRow): number {
    return row.#dueMs;
  }

  /** From now on a worker holds it: its signal and its transaction are the worker's affair. */
  static attach(row: ClaimedRow, holder: Holder): void {
    row.#holder = holder;
  }

  /** True when its own transaction has committed. */
  static isCompleted(job: unknown): boolean {
    return job instanceof ClaimedRow && job.#isCompleted;
  }

  /** Made when somebody asks for it: most never do, and it costs more than the rest. */
  get signal(): AbortSignal {
    return this.#holder?.signal ?? neverAborted;
  }

  get transaction(): ClaimedJob["transaction"] {
    return <T>(work: (tx: OpenTx) => Promise<T>): Promise<T> => {
      const run = this.#completeWith(work);
      if (this.#holder === null) return run;
      const transaction = JobTransaction.of(run);
      this.#holder.noteTransaction(transaction);
      return transaction;
    };
  }

  async #completeWith<T>(work: (tx: OpenTx) => Promise<T>): Promise<T> {
    const holder = this.#holder;
    if (this.#isCompleted) throw new AlreadyCompletedError(this.id);
    if (holder?.isLost === true) throw new LeaseLostError(this.id, this.fenceToken);
    const result = await this.#shares.complete(this)(work);
    this.#isCompleted = true;
    if (holder !== null) holder.isSettled = true;
    return result;
  }
}

const noHeaders = Object.freeze({});
const neverAborted = new AbortController().signal;
