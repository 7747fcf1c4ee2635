import { NotMigratedError, QueueInUseError, UnknownQueueError } from "../errors.js";
import type { OptionNames } from "../option-names.js";
import type { Tx } from "../seams/database.js";
import { defaults, flag } from "../settings.js";
import { binder } from "./bind.js";
import { derivedNames } from "./derived-names.js";
import { type MigrateSeams, step } from "./migrate.js";
import { type Names, withNames } from "./names.js";
import { runOn } from "./run-on.js";
import {
  findQueueUse,
  forgetKeys,
  forgetQueue,
  listArchiveDays,
  listQueueFunctions,
  lockQueue,
  markDropped,
  readServer,
} from "./statements.generated.js";

export interface DropQueueOptions {
  /** Drop it although it has jobs or workers. The jobs are lost; its workers fail until they are stopped. */
  readonly force?: boolean | undefined;
}

export const dropQueueOptionNames: OptionNames<DropQueueOptions> = Object.freeze({ force: true });

/**
 * Drops a queue with everything it has, under the migration lock. Its row is locked first and deleted last: without it nothing is touched, and while it is there the name is not free.
 * The first transaction also locks the table, so that no job can be enqueued between the look and the drop, and drops it. Idempotency keys and archive days are removed in bounded
 * transactions: each table is a few locks, and the server has only so many. If that is interrupted, a second call ends it.
 */
export async function dropQueue(
  seams: MigrateSeams,
  names: Names,
  options: DropQueueOptions = {},
): Promise<void> {
  const force = flag("force", options.force, false);
  const [server] = await seams.database.run(binder(names)(readServer, {}));
  if (server?.queues_exists !== true) throw new NotMigratedError(names.schema, "its tables are missing");
  // A try whose commit was not answered may have dropped it.
  let wasFound = false;
  let isLeft = true;
  while (isLeft) {
    isLeft = await step(seams, names, `dropping the queue ${names.queue}`, async (tx) => {
      const [row] = await runOn(tx, binder(names)(lockQueue, {}));
      if (row === undefined && !wasFound) throw new UnknownQueueError(names.queue, names.schema);
      if (row === undefined) return false;
      if (!row.is_dropped) await dropTables(seams, tx, names, { order: row.order, force });
      wasFound = true;
      return await dropSomeOfRest(tx, names);
    });
  }
}

async function dropTables(
  seams: MigrateSeams,
  tx: Tx,
  names: Names,
  { order, force }: { readonly order: string; readonly force: boolean },
): Promise<void> {
  const bind = binder(names);
  const now = seams.clock.databaseNow();
  await tx.query(withNames("lock table leasehold.inbox in access exclusive mode", names));
  const [use] = await runOn(tx, bind(findQueueUse, { now }));
  if (!force && use !== undefined && (use.has_jobs || use.workers.length > 0))
    throw new QueueInUseError(names.queue, use.workers, use.has_jobs);
  const ordered = order === "key" ? ", leasehold.inbox_hot_keys, leasehold.inbox_turns" : "";
  await tx.query(withNames(`drop table leasehold.inbox${ordered}`, names));
  await tx.query(withNames("drop sequence leasehold.inbox_seq", names));
  const { functions } = derivedNames(names.queue);
  const found = await runOn(tx, bind(listQueueFunctions, { functions }));
  if (found.length > 0) await tx.query(`drop function ${found.map((row) => row.signature).join(", ")}`);
  await runOn(tx, bind(markDropped, { now }));
}

/** Whether something is left. The archive goes last: while there is one, no other queue can take the name. */
async function dropSomeOfRest(tx: Tx, names: Names): Promise<boolean> {
  const bind = binder(names);
  const [keys] = await runOn(tx, bind(forgetKeys, { limit: defaults.expireRowsMax }));
  if (Number(keys?.removed) === defaults.expireRowsMax) return true;
  const days = await runOn(tx, bind(listArchiveDays, { limit: defaults.dropDaysMax + 1 }));
  if (days.length > defaults.dropDaysMax) {
    const some = days.slice(0, defaults.dropDaysMax).map(({ name }) => `${names.schema}.${name}`);
    await tx.query(`drop table ${some.join(", ")}`);
    return true;
  }
  await tx.query(withNames("drop table leasehold.inbox_archive", names));
  await runOn(tx, bind(forgetQueue, {}));
  return false;
}
