import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { isLockTimeout } from "../database/guarded-database.js";
import { runOn } from "../database/run-on.js";
import { enqueueJobs } from "../database/statements.generated.js";
import { EnqueueBlockedError } from "../errors.js";
import type { Clock } from "../seams/clock.js";
import type { Query, Tx } from "../seams/database.js";
import { defaults } from "../settings.js";
import type { NewJob } from "./new-job.js";

/** What became of an enqueue: the job's id, or that of the job which already answers for its idempotency key. */
export interface Enqueued {
  readonly id: string;
  readonly duplicate: boolean;
}

export interface EnqueueSeams {
  readonly database: GuardedDatabase;
  readonly clock: Clock;
  readonly bind: Binder;
  readonly newId: () => string;
}

/** Inserts on a user's transaction. Whether it is repeated after a lost connection is the user's affair. */
export async function enqueueOn(
  tx: Tx,
  seams: EnqueueSeams,
  jobs: readonly NewJob[],
  wakes = true,
): Promise<readonly Enqueued[]> {
  return answers(jobs, await runOn(tx, request(seams, jobs, wakes ? {} : { wake: false }), seams.database));
}

/** How a job was sent before: the receipts of sends that may have committed although they failed. */
interface Sending {
  readonly lockTimeoutMs?: number | undefined;
  readonly receipt: string;
  readonly earlier?: readonly (readonly string[])[];
}

/**
 * Inserts in one statement of its own. After an ambiguous commit the same ids are sent again, as jobs that may be there already.
 * `lockTimeoutMs` bounds the wait for an open transaction that holds one of the keys.
 */
export async function enqueueOnce(
  seams: EnqueueSeams,
  jobs: readonly NewJob[],
  sending: Sending = { receipt: seams.newId() },
): Promise<readonly Enqueued[]> {
  const { receipt, lockTimeoutMs, earlier } = sending;
  const common = { receipt, ...(lockTimeoutMs === undefined ? {} : { lock_timeout_ms: lockTimeoutMs }) };
  const wasSent = earlier?.some((receipts) => receipts.length > 0) === true;
  const first = request(
    seams,
    wasSent ? withEarlier(jobs, earlier) : jobs,
    wasSent ? { ...common, resend: true } : common,
  );
  const again = (): EnqueueQuery => {
    const receipts = jobs.map((_, i) => [...(earlier?.[i] ?? []), receipt]);
    return request(seams, withEarlier(jobs, receipts), { ...common, resend: true });
  };
  return answers(jobs, await seams.database.run(first, again));
}

/** Many rows, all or none: one statement, whatever their number, so that every lock is taken in one order. */
export async function enqueueAll(
  seams: EnqueueSeams,
  jobs: readonly NewJob[],
  isStrict: boolean,
): Promise<readonly Enqueued[]> {
  const mayWait = isStrict || jobs.some((job) => job.idempotencyKey !== null);
  try {
    return await enqueueOnce(seams, jobs, {
      receipt: seams.newId(),
      lockTimeoutMs: mayWait ? defaults.enqueueBlockedMs : undefined,
    });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    throw new EnqueueBlockedError(`one of ${jobs.length} jobs`, {
      cause: error,
      waitedMs: defaults.enqueueBlockedMs,
    });
  }
}

function withEarlier(jobs: readonly NewJob[], earlier: readonly (readonly string[])[]): NewJob[] {
  return jobs.map((job, i) => ({
    ...job,
    json: `${job.json.slice(0, -1)},"earlier":${JSON.stringify(earlier[i] ?? [])}}`,
  }));
}

type EnqueueRow = NonNullable<(typeof enqueueJobs)["row"]>;
type EnqueueQuery = Query<EnqueueRow>;

function request(
  seams: EnqueueSeams,
  jobs: readonly NewJob[],
  extra: Readonly<Record<string, unknown>>,
): EnqueueQuery {
  const now = seams.clock.databaseNow();
  const once = jobs.some((job) => job.idempotencyKey !== null);
  const isQuiet = !once && !("resend" in extra);
  const fields = { once, ...(isQuiet ? { quiet: true } : {}), ...(now === null ? {} : { now }), ...extra };
  const head = JSON.stringify(fields).slice(0, -1);
  return seams.bind(enqueueJobs, { request: `${head},"jobs":[${jobs.map((job) => job.json).join(",")}]}` });
}

/** Nothing came back for jobs that were neither sent before nor may be duplicates: they are there. */
function answers(jobs: readonly NewJob[], rows: readonly EnqueueRow[]): readonly Enqueued[] {
  if (rows.length === 0) return jobs.map(({ id }) => ({ id, duplicate: false }));
  return rows.map(({ id, duplicate }) => ({ id, duplicate: duplicate === "true" }));
}
