import type { OpenTx } from "../seams/database.js";

/** Where a job is in its life. The first four are in the queue's table, the last two in its archive; an old dead letter is in the archive too. */
export type JobStatus = "scheduled" | "pending" | "processing" | "dead_letter" | "completed" | "discarded";

/** One failed attempt. The ten newest are kept. */
export interface AttemptError {
  readonly at: string;
  readonly attempt: number;
  readonly worker: string | null;
  readonly token: string;
  readonly message: string;
  /** Where it was thrown; cut at errorStackMax. Missing when nothing was thrown, and for retryAfter() and deadLetter(). */
  readonly stack?: string;
}

interface JobFields<K extends string, P> {
  readonly id: string;
  readonly queue: string;
  readonly kind: K;
  readonly payload: P;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly partitionKey: string;
  readonly bucket: number;
  readonly maxAttempts: number;
  /** Attempts that ended without an outcome: the lease ran out, or the worker was lost. */
  readonly crashes: number;
  readonly priority: number;
  readonly availableAt: Date;
  readonly createdAt: Date;
  readonly idempotencyKey: string | null;
  readonly lastError: string | null;
}

/** A job as its worker holds it. */
export interface ClaimedJob<K extends string = string, P = unknown> extends JobFields<K, P> {
  /** The place in its line. */
  readonly seq: bigint;
  /** 1 on the first attempt. */
  readonly attempt: number;
  readonly workerId: string;
  /** Rises along every partition key, over rows and attempts; hand it to whatever you write to, or to lh.fence(). */
  readonly fenceToken: bigint;
  readonly claimedAt: Date;
  readonly leaseExpiresAt: Date;
  /** Runs your writes and the completion of this job in one commit. With a lost lease both roll back (LeaseLostError). */
  transaction<T>(work: (tx: OpenTx) => Promise<T>): Promise<T>;
}

/** A job as its handler sees it. */
export interface WorkingJob<K extends string = string, P = unknown> extends ClaimedJob<K, P> {
  /** Aborts when the lease is lost, the handler's time is up, or the worker can't wait any longer; its reason is the error that says so. */
  readonly signal: AbortSignal;
}

/** A job as an operator sees it: plain data that can be sent as JSON, so what may exceed a safe number is decimal text. */
export interface JobRecord<K extends string = string, P = unknown> extends JobFields<K, P> {
  /** True when payload and headers are larger than this answer may be: then `payload` is null and `headers` is empty. get(id) has a higher limit than a list. */
  readonly payloadOmitted: boolean;
  /** The place in its line, in decimal digits. */
  readonly seq: string;
  readonly status: JobStatus;
  readonly attempts: number;
  readonly claimedBy: string | null;
  readonly claimedAt: Date | null;
  readonly leaseExpiresAt: Date | null;
  /** In decimal digits; "0" when it was never claimed. */
  readonly fenceToken: string;
  readonly errors: readonly AttemptError[];
  readonly finishedAt: Date | null;
}
