import type { AttemptError, JobRecord, JobStatus } from "../work/job.js";
import type { claimJobs, getJob, settleJobs } from "./statements.generated.js";

/** The rows of statements, and how they become what an operator sees: snake_case to camelCase. Claimed rows: work/claimed-row.ts. */

export type ClaimRow = NonNullable<(typeof claimJobs)["row"]>;
export type SettleRow = NonNullable<(typeof settleJobs)["row"]>;
export type JobRow = NonNullable<(typeof getJob)["row"]>;

export function toJobRecord(row: JobRow, queue: string): JobRecord {
  return Object.freeze({
    id: row.id,
    queue,
    kind: row.kind,
    payload: row.payload,
    payloadOmitted: row.payload_omitted,
    headers: row.headers as Record<string, unknown>,
    partitionKey: row.partition_key,
    bucket: row.partition_bucket,
    seq: row.seq,
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
    fenceToken: row.lease_generation,
    idempotencyKey: row.idempotency_key,
    lastError: row.last_error,
    errors: row.errors as AttemptError[],
    finishedAt: row.finished_at,
  });
}
