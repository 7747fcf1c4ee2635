import type { AttemptError, ClaimedJob, JobRecord, JobStatus } from "../work/job.js";
import type { claimJobs, getJob, settleJobs } from "./statements.generated.js";

/** Rows become jobs here and nowhere else: snake_case to camelCase, bigint from text. */

export type ClaimRow = NonNullable<(typeof claimJobs)["row"]>;
export type SettleRow = NonNullable<(typeof settleJobs)["row"]>;
export type JobRow = NonNullable<(typeof getJob)["row"]>;

export function toClaimedJob(
  row: ClaimRow & { readonly id: string },
  held: {
    readonly queue: string;
    readonly workerId: string;
    readonly transaction: (job: ClaimedJob) => ClaimedJob["transaction"];
  },
): ClaimedJob {
  const job: ClaimedJob = {
    id: row.id,
    queue: held.queue,
    kind: row.kind ?? "",
    payload: row.payload,
    headers: (row.headers ?? {}) as Record<string, unknown>,
    partitionKey: row.partition_key ?? "",
    bucket: row.partition_bucket ?? 0,
    seq: BigInt(row.seq ?? 0),
    attempt: row.attempts ?? 0,
    maxAttempts: row.max_attempts ?? 0,
    crashes: row.crashes ?? 0,
    priority: row.priority ?? 0,
    availableAt: present(row.available_at),
    createdAt: present(row.created_at),
    idempotencyKey: row.idempotency_key,
    lastError: row.last_error,
    workerId: held.workerId,
    fenceToken: BigInt(row.lease_generation ?? 0),
    claimedAt: present(row.claimed_at),
    leaseExpiresAt: present(row.lease_expires_at),
    transaction: (work) => held.transaction(job)(work),
  };
  return Object.freeze(job);
}

export function toJobRecord(row: JobRow, queue: string): JobRecord {
  return Object.freeze({
    id: row.id,
    queue,
    kind: row.kind,
    payload: row.payload,
    headers: row.headers as Record<string, unknown>,
    partitionKey: row.partition_key,
    bucket: row.partition_bucket,
    seq: BigInt(row.seq),
    status: row.status as JobStatus,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    crashes: row.crashes,
    priority: row.priority,
    availableAt: row.available_at,
    createdAt: row.created_at,
    claimedBy: row.claimed_by,
    claimedAt: row.claimed_at,
    leaseExpiresAt: row.lease_expires_at,
    fenceToken: BigInt(row.lease_generation),
    idempotencyKey: row.idempotency_key,
    lastError: row.last_error,
    errors: row.errors as AttemptError[],
    finishedAt: row.finished_at,
  });
}

function present(value: Date | null): Date {
  if (value === null) throw new TypeError("A claimed row lacks a time that every claim writes.");
  return value;
}
