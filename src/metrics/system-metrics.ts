import { binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { primaryReader } from "../database/reader.js";
import { listSnapshotHolders, readArchiveRows, readQueueStorage } from "../database/statements.generated.js";
import { DatabaseUnavailableError } from "../errors.js";
import { type Leasehold, type Surroundings, surroundingsOf } from "../leasehold.js";
import { listQueues, type QueueSummary } from "../operate/queues.js";
import { countsOf, type JobCounts } from "../operate/stats.js";
import { unlessDropped } from "../operate/unless-dropped.js";
import { listWorkers, type WorkerRow } from "../operate/workers.js";
import { Deadline } from "../runtime/deadline.js";
import { defaults } from "../settings.js";
import type { Families } from "./family.js";

const states = ["alive", "draining", "dead", "left"] as const;

/** What the database knows: the same whichever process asks. Rejects soon when it does not answer: a scrape has a limit of its own, within which the metrics of the process have to come. */
export async function addSystemMetrics(families: Families, lh: Leasehold): Promise<void> {
  const around = surroundingsOf(lh);
  const { bind, clock } = around;
  const database = impatient(around.database);
  const first = Promise.all([
    listWorkers({ database, bind, clock }),
    listQueues({ database, bind }),
    lh.replica(),
    database.run(bind(listSnapshotHolders, { limit: defaults.doctorHoldersMax })),
  ]);
  // A connection may take longer to get than a statement.
  if (!(await new Deadline(clock, defaults.metricsTimeoutMs).wait(first))) {
    const cause = new Error(`it did not answer within ${defaults.metricsTimeoutMs} ms`);
    throw new DatabaseUnavailableError("metrics", false, { cause });
  }
  const [workers, queues, replica, holders] = await first;
  for (const state of states) {
    const count = workers.filter((worker) => worker.state === state).length;
    families.add("leasehold_workers", count, { state });
  }
  if (replica !== null && replica.behindMs !== null)
    families.add("leasehold_replica_lag_seconds", replica.behindMs / 1_000);
  const nowMs = clock.epochMs();
  const ages = holders.map(({ since }) => (since === null ? 0 : nowMs - since.getTime()));
  families.add("leasehold_oldest_snapshot_age_seconds", Math.max(0, ...ages) / 1_000);
  for (const summary of queues.slice(0, defaults.metricsQueuesMax))
    await unlessDropped(addQueue(families, { ...around, database, schema: lh.schema }, { summary, workers }));
}

/** Asks once more when a connection was lost, and no more: the next scrape comes soon. */
function impatient(database: GuardedDatabase): Asked {
  const { metricsTimeoutMs: timeoutMs, metricsTriesMax: triesMax } = defaults;
  return { run: (query) => database.run({ ...query, timeoutMs, triesMax }) };
}

type Asked = Pick<GuardedDatabase, "run">;

interface QueueLook extends Pick<Surroundings, "clock" | "replica"> {
  readonly database: Asked;
  readonly schema: string;
}

async function addQueue(
  families: Families,
  { database, schema, clock, replica }: QueueLook,
  { summary, workers }: { readonly summary: QueueSummary; readonly workers: readonly WorkerRow[] },
): Promise<void> {
  const { name: queue, pausedAt } = summary;
  const bind = binder({ schema, queue });
  const [counts, [storage], [archive]] = await Promise.all([
    countsOf({ reads: replica ?? primaryReader(database), bind, clock }, { exact: false }),
    database.run(bind(readQueueStorage, {})),
    database.run(bind(readArchiveRows, {})),
  ]);
  addCounts(families, queue, counts);
  const lagMs = counts.oldestDueAt === null ? 0 : clock.epochMs() - counts.oldestDueAt.getTime();
  families.add("leasehold_oldest_due_age_seconds", Math.max(0, lagMs) / 1_000, { queue });
  families.add("leasehold_queue_paused", pausedAt === null ? 0 : 1, { queue });
  families.add("leasehold_table_bytes", Number(storage?.table_bytes ?? 0), { queue });
  families.add("leasehold_dead_tuples", Number(storage?.dead_tuples ?? 0), { queue });
  families.add("leasehold_archive_rows", Number(archive?.rows ?? 0), { queue });
  const failing = workers.filter(({ state, failing: queues }) => state === "alive" && queue in queues).length;
  families.add("leasehold_workers_failing", failing, { queue });
}

function addCounts(families: Families, queue: string, counts: JobCounts): void {
  const byStatus = {
    scheduled: counts.scheduled,
    pending: counts.pending,
    processing: counts.processing,
    dead_letter: counts.deadLetter,
  };
  for (const [status, count] of Object.entries(byStatus))
    families.add("leasehold_jobs", count, { queue, status });
  families.add("leasehold_jobs_due", counts.due, { queue });
  families.add("leasehold_jobs_retrying", counts.retrying, { queue });
}
