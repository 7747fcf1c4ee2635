import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { auditDue, findQueue } from "../database/statements.generated.js";
import { ringOf } from "../membership/owned-buckets.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";
import { storedQueue } from "../work/stored-queue.js";
import { bucketLocks } from "./bucket-locks.js";
import { isLiveOn, listWorkers, type WorkerRow } from "./workers.js";

export interface Unclaimed {
  readonly rule: "unclaimed";
  readonly id: string;
  readonly partition_key: string;
  readonly seq: string;
  readonly detail: string;
  readonly total: string;
}

interface Seams {
  readonly database: GuardedDatabase;
  readonly bind: Binder;
  readonly clock: Clock;
}

/**
 * Rows that have been due for a minute in buckets whose owner has had room all that time and has claimed nothing, that nobody owns because every worker fails, or whose lock is held by somebody who does not claim. Asks for one row of each bucket.
 * A worker says with each beat how long it has been idle; one that does not say so is believed.
 */
export async function unclaimed(seams: Seams, queue: string): Promise<readonly Unclaimed[]> {
  const { database, bind, clock } = seams;
  const given = { lateMs: defaults.auditLateMs, now: clock.databaseNow() };
  const due = await database.run({ ...bind(auditDue, given), triesMax: 1 });
  const [settings] = due.length === 0 ? [] : await database.run(bind(findQueue, { name: queue }));
  if (settings === undefined) return [];
  const workers = await listWorkers(seams);
  const alive = workers.filter((worker) => isLiveOn(worker, queue));
  const ring = ringOf(storedQueue(settings), alive);
  const failing = workers.some((worker) => worker.state === "alive" && worker.failing[queue] !== undefined);
  const locks = await bucketLocks(
    seams,
    due.map(({ bucket }) => bucket),
  );
  const late = due.flatMap((row) => {
    const owner = alive.find(({ id }) => id === ring.owners[row.bucket]);
    const idle = owner === undefined ? failing && "all workers of the queue fail" : idleWords(owner, queue);
    const detail = locks.get(row.bucket) ?? idle;
    return detail === false ? [] : [{ row, detail }];
  });
  return late.slice(0, defaults.auditRowsMax).map(({ row: { id, partition_key, seq, bucket }, detail }) => ({
    rule: "unclaimed",
    ...{ id, partition_key, seq, detail: `in bucket ${bucket}: ${detail}`, total: String(late.length) },
  }));
}

/** False when it claims, has no room, or does not say. */
function idleWords({ id, load }: WorkerRow, queue: string): string | false {
  const idleMs = load.idleMs[queue];
  if (idleMs === undefined || idleMs < defaults.auditLateMs) return false;
  return `${id} owns it, has room, and has claimed nothing for ${Math.round(idleMs / 1_000)} s`;
}
