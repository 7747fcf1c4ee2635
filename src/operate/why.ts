import { explainJob } from "../database/statements.generated.js";
import { ringOf } from "../membership/owned-buckets.js";
import type { JobRecord } from "../work/job.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { get } from "./list.js";
import { isLiveOn, listWorkers } from "./workers.js";

/** Why a job is where it is: a reason to branch on, a sentence to read at 3 a.m., and the rows it speaks of. */
export interface Why {
  readonly reason:
    | "unknown"
    | "completed"
    | "discarded"
    | "dead_letter"
    | "parked"
    | "running"
    | "lease_expired"
    | "worker_dead"
    | "paused"
    | "scheduled"
    | "backoff"
    | "blocked"
    | "no_workers"
    | "no_owner"
    | "ready";
  readonly words: string;
  readonly job: JobRecord | null;
  /** The row of the same key that has to finish first. */
  readonly blockedBy: string | null;
  /** How many unfinished rows of its key stand before it (counted up to 1000). */
  readonly ahead: number;
}

type Facts = NonNullable<(typeof explainJob)["row"]>;

export async function why(seams: QueueSeams, id: string): Promise<Why> {
  const job = await get(seams, id);
  if (job === null) {
    const words = `No job has the id ${id} in ${seams.settings.name}: it never existed, or it finished longer ago than the retention.`;
    return { reason: "unknown", words, job: null, blockedBy: null, ahead: 0 };
  }
  const [facts] = await seams.database.run(
    seams.bind(explainJob, { id: job.id, now: seams.clock.databaseNow() }),
  );
  if (facts === undefined) return finished(job);
  const { reason, words } = explain(job, facts) ?? (await explainReady(seams, job));
  return {
    reason,
    words,
    job,
    blockedBy: reason === "blocked" ? facts.blocker_id : null,
    ahead: Number(facts.ahead),
  };
}

function finished(job: JobRecord): Why {
  const reason = job.status === "discarded" ? "discarded" : "completed";
  const by =
    reason === "completed" && job.claimedBy !== null ? ` by ${job.claimedBy} in attempt ${job.attempts}` : "";
  const words = `It was ${reason} at ${time(job.finishedAt)}${by}.`;
  return { reason, words, job, blockedBy: null, ahead: 0 };
}

/** Null when nothing stands in the way. */
function explain(job: JobRecord, facts: Facts): Pick<Why, "reason" | "words"> | null {
  if (job.status === "dead_letter") return deadLettered(job);
  if (job.status === "processing") return running(job, facts);
  if (facts.paused_at !== null) {
    return {
      reason: "paused",
      words: `The queue has been paused since ${time(facts.paused_at)}. Resume it with resume().`,
    };
  }
  if (job.status === "scheduled") return scheduled(job, facts);
  if (facts.blocker_id !== null) return { reason: "blocked", words: blockedWords(job, facts) };
  if (job.availableAt > facts.now) {
    return {
      reason: "backoff",
      words: `Attempt ${job.attempts} of ${job.maxAttempts} failed (${job.lastError}); the next one comes at ${time(job.availableAt)}. Its key waits with it.`,
    };
  }
  if (Number(facts.workers_alive) === 0) {
    return {
      reason: "no_workers",
      words: `It is first in line and due, but no worker is registered and alive. Start one, or claim by hand.`,
    };
  }
  return null;
}

/** Who should take it: the owner of its bucket, by the registry as it is now. */
async function explainReady(seams: QueueSeams, job: JobRecord): Promise<Pick<Why, "reason" | "words">> {
  const { name } = seams.settings;
  const workers = await listWorkers(seams);
  const ring = ringOf(
    seams.settings,
    workers.filter((worker) => isLiveOn(worker, name)),
  );
  const owner = ring.owners[job.bucket] ?? null;
  const first = `It is first in line and due since ${time(job.availableAt)}`;
  if (owner === null) {
    const words = `${first}, but no live worker may own bucket ${job.bucket}: their regions are excluded.`;
    return { reason: "no_owner", words };
  }
  return { reason: "ready", words: `${first}; ${owner}, the owner of bucket ${job.bucket}, takes it next.` };
}

function scheduled(job: JobRecord, facts: Facts): Pick<Why, "reason" | "words"> {
  const reason = job.attempts > 0 ? "backoff" : "scheduled";
  const before = job.attempts > 0 ? `Attempt ${job.attempts} failed (${job.lastError}). ` : "";
  if (job.availableAt <= facts.now) {
    return {
      reason,
      words: `${before}It fell due at ${time(job.availableAt)}; the next claim of bucket ${job.bucket} puts it in line.`,
    };
  }
  return { reason, words: `${before}It is scheduled for ${time(job.availableAt)}.` };
}

function deadLettered(job: JobRecord): Pick<Why, "reason" | "words"> {
  const because = `after ${job.attempts} of ${job.maxAttempts} attempts: ${job.lastError ?? "no error was kept"}`;
  if (job.finishedAt === null) {
    return {
      reason: "parked",
      words: `It was dead-lettered ${because}. It holds its key until you retry or discard it.`,
    };
  }
  return {
    reason: "dead_letter",
    words: `It was dead-lettered at ${time(job.finishedAt)} ${because}. Its key goes on; retry puts it at the end of the line.`,
  };
}

function running(job: JobRecord, facts: Facts): Pick<Why, "reason" | "words"> {
  const where = `${job.claimedBy} since ${time(job.claimedAt)}, attempt ${job.attempts}, token ${job.fenceToken}`;
  if (facts.worker_status === "dead") {
    return {
      reason: "worker_dead",
      words: `It was claimed by ${where}; that worker is marked dead and the next claim takes the row over.`,
    };
  }
  if (job.leaseExpiresAt !== null && job.leaseExpiresAt <= facts.now) {
    return {
      reason: "lease_expired",
      words: `It was claimed by ${where}; the lease ran out at ${time(job.leaseExpiresAt)} and the next claim takes the row over.`,
    };
  }
  return {
    reason: "running",
    words: `It is running on ${where}, with a lease until ${time(job.leaseExpiresAt)}.`,
  };
}

function blockedWords(job: JobRecord, facts: Facts): string {
  const blocker = `${facts.blocker_kind} ${facts.blocker_id}`;
  const first = `It waits behind ${facts.ahead === "0" ? "" : `${facts.ahead} row(s) of `}its key ${job.partitionKey}: `;
  if (facts.blocker_status === "processing") {
    return `${first}${blocker} is running on ${facts.blocker_claimed_by} until ${time(facts.blocker_lease_expires_at)}.`;
  }
  if (facts.blocker_status === "dead_letter") {
    return `${first}${blocker} is a parked dead letter (${facts.blocker_last_error}). Retry or discard it.`;
  }
  if (facts.blocker_available_at !== null && facts.blocker_available_at > facts.now) {
    return `${first}${blocker} failed (${facts.blocker_last_error}) and is tried again at ${time(facts.blocker_available_at)}.`;
  }
  return `${first}${blocker} is due and comes first.`;
}

function time(at: Date | null): string {
  return at === null ? "an unknown time" : at.toISOString();
}
