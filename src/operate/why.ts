import { explainJob } from "../database/statements.generated.js";
import { ringOf } from "../membership/owned-buckets.js";
import type { JobRecord } from "../work/job.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { bucketLocks } from "./bucket-locks.js";
import { get } from "./list.js";
import { isLiveOn, listWorkers, type WorkerRow, worksOn } from "./workers.js";

/**
 * Why a job is where it is: a reason to branch on, a sentence to read at 3 a.m., and the rows it speaks of. `running`: its worker may have started it.
 * `claimed`: a worker holds it behind an earlier row of its key, so it has not been started.
 */
export interface Why {
  readonly reason:
    | "unknown"
    | "completed"
    | "discarded"
    | "dead_letter"
    | "parked"
    | "running"
    | "claimed"
    | "lease_expired"
    | "worker_dead"
    | "paused"
    | "scheduled"
    | "backoff"
    | "blocked"
    | "no_workers"
    | "no_owner"
    | "no_handler"
    | "workers_failing"
    | "bucket_locked"
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
  const explained = explain(job, facts) ?? (await explainReady(seams, job));
  const { reason } = explained;
  const words = reason === "blocked" ? await headWords(seams, job, facts) : explained.words;
  return {
    reason,
    words,
    job,
    blockedBy: reason === "blocked" || reason === "claimed" ? facts.blocker_id : null,
    ahead: Number(facts.ahead),
  };
}

function finished(job: JobRecord): Why {
  if (job.status === "dead_letter") {
    const words = `It was dead-lettered ${because(job)}. It was moved to the archive at ${time(job.finishedAt)}; retry with its id brings it back.`;
    return { reason: "dead_letter", words, job, blockedBy: null, ahead: 0 };
  }
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
  if (job.attempts > 0 && job.availableAt > facts.now) {
    return {
      reason: "backoff",
      words: `Attempt ${job.attempts} failed (${job.lastError}), ${spent(job)} are used up; the next one comes at ${time(job.availableAt)}. Its key waits with it.`,
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
  const live = workers.filter((worker) => isLiveOn(worker, name));
  const owner = ringOf(seams.settings, live).owners[job.bucket] ?? null;
  const first = `It is first in line and due since ${time(job.availableAt)}`;
  const able = live.filter(({ kinds }) => kinds[name]?.includes(job.kind) ?? true);
  if (live.length > 0 && able.length === 0) {
    const words = `${first}, but no live worker has a handler for the kind ${job.kind}. No attempt is used up while it waits.`;
    return { reason: "no_handler", words };
  }
  if (owner === null) {
    const failing = failingWords(workers, name);
    if (failing !== "")
      return { reason: "workers_failing", words: `${first}, but no worker can take it: ${failing}` };
    const words = `${first}, but no live worker may own bucket ${job.bucket}: their regions are excluded.`;
    return { reason: "no_owner", words };
  }
  const lock = (await bucketLocks(seams, [job.bucket])).get(job.bucket);
  if (lock !== undefined)
    return { reason: "bucket_locked", words: `${first}, but in bucket ${job.bucket} ${lock}.` };
  if (able.some(({ id }) => id === owner))
    return {
      reason: "ready",
      words: `${first}; ${owner}, the owner of bucket ${job.bucket}, takes it next.`,
    };
  const second = ringOf(seams.settings, able).owners[job.bucket] ?? null;
  const lacks = `${first}; ${owner}, the owner of bucket ${job.bucket}, has no handler for the kind ${job.kind}`;
  if (second !== null) return { reason: "ready", words: `${lacks}, so ${second} takes it next.` };
  const words = `${lacks}, and no worker with one may own the bucket: their regions are excluded.`;
  return { reason: "no_owner", words };
}

/** What holds a job up that is not the first of its key. A head that is due may have nobody who handles it. */
async function headWords(seams: QueueSeams, job: JobRecord, facts: Facts): Promise<string> {
  const words = blockedWords(job, facts);
  const { name } = seams.settings;
  if (facts.blocker_status !== "pending" || facts.blocker_kind === null) return words;
  const live = (await listWorkers(seams)).filter((worker) => isLiveOn(worker, name));
  const kind = facts.blocker_kind;
  if (live.length === 0 || live.some(({ kinds }) => kinds[name]?.includes(kind) ?? true)) return words;
  return `${words} But no live worker has a handler for the kind ${kind}, so the key waits. Start one that has, or discard ${facts.blocker_id}.`;
}

/** The live workers of a queue that fail; empty when one does not. */
function failingWords(workers: readonly WorkerRow[], queue: string): string {
  const working = workers.filter((worker) => worksOn(worker, queue));
  if (working.some((worker) => worker.failing[queue] === undefined)) return "";
  return working
    .map(({ id, failing }) => {
      const { what, reason, since } = failing[queue] ?? { what: "claim", reason: "", since: null };
      return `every ${what} of ${id} has failed since ${time(since)} (${reason}).`;
    })
    .join(" ");
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
  if (job.finishedAt === null) {
    return {
      reason: "parked",
      words: `It was dead-lettered ${because(job)}. It holds its key until you retry or discard it.`,
    };
  }
  return {
    reason: "dead_letter",
    words: `It was dead-lettered at ${time(job.finishedAt)} ${because(job)}. Its key goes on; retry puts it at the end of the line.`,
  };
}

function because(job: JobRecord): string {
  return `after ${spent(job)}: ${job.lastError ?? "no error was kept"}`;
}

/** Errors and crashes have budgets of their own. */
function spent(job: JobRecord): string {
  const errors = `${job.attempts - job.crashes} of ${job.maxAttempts} attempts`;
  if (job.crashes === 0) return errors;
  return `${errors} and ${job.crashes} ${job.crashes === 1 ? "crash" : "crashes"}`;
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
  const lease = `with a lease until ${time(job.leaseExpiresAt)}`;
  if (facts.is_prefetched) {
    return {
      reason: "claimed",
      words: `It is claimed by ${where}, ${lease}, and has not started: it waits there behind ${facts.blocker_kind} ${facts.blocker_id} of its key.`,
    };
  }
  // The row does not say whether its worker has begun with it: among those that may run, some wait for a free slot.
  const place = facts.is_ordered ? ", and is the first of its key there" : "";
  return {
    reason: "running",
    words: `It is claimed by ${where}, ${lease}${place}: it is running or about to start.`,
  };
}

function blockedWords(job: JobRecord, facts: Facts): string {
  const blocker = `${facts.blocker_kind} ${facts.blocker_id}`;
  const first = `It waits behind ${facts.ahead === "0" ? "" : `${facts.ahead} row(s) of `}its key ${job.partitionKey}: `;
  if (facts.blocker_status === "processing") {
    return `${first}${blocker} is in process on ${facts.blocker_claimed_by} until ${time(facts.blocker_lease_expires_at)}.`;
  }
  if (facts.blocker_status === "dead_letter") {
    return `${first}${blocker} is a parked dead letter (${facts.blocker_last_error}). Retry or discard it.`;
  }
  if (
    facts.blocker_last_error !== null &&
    facts.blocker_available_at !== null &&
    facts.blocker_available_at > facts.now
  ) {
    return `${first}${blocker} failed (${facts.blocker_last_error}) and is tried again at ${time(facts.blocker_available_at)}.`;
  }
  return `${first}${blocker} is due and comes first.`;
}

function time(at: Date | null): string {
  return at === null ? "an unknown time" : at.toISOString();
}
