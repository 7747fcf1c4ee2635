import type { JobRecord, JobStatus, Queue } from "../src/index.js";
import { exitCodes } from "./exit-codes.js";
import { CliError, notFound } from "./failure.js";
import { count } from "./figures.js";

/** A job that was named by its id and is left as it is. */
export interface Unchanged {
  readonly id: string;
  /** `not_found`, `other_kind`, `other_key`, `due`, `archived`, or the status of the job. */
  readonly reason: string;
  readonly words: string;
}

export interface Wanted {
  readonly verb: "redrive" | "discard";
  readonly ids: readonly string[];
  readonly status: JobStatus | undefined;
  readonly kind: string | undefined;
  readonly key: string | undefined;
  readonly now: Date;
}

export interface Chosen {
  readonly ids: readonly string[];
  readonly unchanged: readonly Unchanged[];
}

const atATime = 4;
const toldMax = 10;

/** Which of the jobs can be changed, and why the others can't. Raises an error when none can. */
export async function chosenJobs(queue: Queue, wanted: Wanted): Promise<Chosen> {
  const ids = [...new Set(wanted.ids.map((id) => id.toLowerCase()))];
  const unchanged: Unchanged[] = [];
  for (const [id, job] of await jobsOf(queue, ids)) {
    const why = job === null ? notThere(queue.name) : refusal(job, wanted);
    if (why !== null) unchanged.push({ id, ...why });
  }
  const left = ids.filter((id) => !unchanged.some((one) => one.id === id));
  if (left.length === 0) throw noneChanges(queue.name, unchanged);
  return { ids: left, unchanged };
}

/** After a discard: which of the ids are still there. The archive keeps its dead letters, and only their status tells them from others. */
export async function stillThere(queue: Queue, ids: readonly string[]): Promise<readonly Unchanged[]> {
  return [...(await jobsOf(queue, ids))].flatMap(([id, job]) => {
    if (job === null || job.status === "discarded") return [];
    if (job.status !== "dead_letter") return [{ id, reason: job.status, words: `it is ${job.status} now` }];
    const words = "it is a dead letter of the archive, which keeps it until its retention ends";
    return [{ id, reason: "archived", words }];
  });
}

export function noneChanges(queue: string, unchanged: readonly Unchanged[]): CliError {
  const [first] = unchanged;
  if (unchanged.every(({ reason }) => reason === "not_found")) {
    const advice = "A job that is not found never existed, or finished longer ago than the retention.";
    if (unchanged.length === 1) return notFound(`There is no job ${first?.id} in ${queue}.`, advice);
    const ids = listed(unchanged.map(({ id }) => id));
    return notFound(`None of these is a job of ${queue}: ${ids}.`, advice);
  }
  const reasons = listed(
    unchanged.map(({ id, words }) => `${id}: ${words}`),
    "; ",
  );
  return new CliError("CLI_NOTHING_CHANGED", exitCodes.conflict, {
    message: `No job was changed. ${reasons}.`,
    advice: `See what a job waits for: leasehold jobs why ${queue} ${first?.id}`,
  });
}

async function jobsOf(queue: Queue, ids: readonly string[]): Promise<Map<string, JobRecord | null>> {
  const jobs = new Map<string, JobRecord | null>();
  for (let from = 0; from < ids.length; from += atATime) {
    const some = ids.slice(from, from + atATime);
    const found = await Promise.all(some.map((id) => queue.get(id)));
    for (const [at, id] of some.entries()) jobs.set(id, found[at] ?? null);
  }
  return jobs;
}

type Why = Omit<Unchanged, "id">;

function notThere(queue: string): Why {
  return { reason: "not_found", words: `there is no such job in ${queue}` };
}

function refusal(job: JobRecord, { verb, status, kind, key, now }: Wanted): Why | null {
  if (job.status === "processing")
    return { reason: job.status, words: `the worker ${job.claimedBy ?? "that claimed it"} holds it` };
  if (job.status === "completed" || job.status === "discarded")
    return { reason: job.status, words: `it is ${job.status}` };
  if (status !== undefined && job.status !== status)
    return { reason: job.status, words: `it is ${job.status}, not ${status}` };
  if (kind !== undefined && job.kind !== kind)
    return { reason: "other_kind", words: `its kind is ${job.kind}` };
  if (key !== undefined && job.partitionKey !== key)
    return { reason: "other_key", words: `its key is ${job.partitionKey}` };
  if (verb === "redrive" && job.status !== "dead_letter" && job.availableAt <= now)
    return { reason: "due", words: `it is ${job.status}, and due already` };
  return null;
}

function listed(parts: readonly string[], separator = ", "): string {
  const more = parts.length > toldMax ? ` and ${count(parts.length - toldMax)} more` : "";
  return parts.slice(0, toldMax).join(separator) + more;
}
