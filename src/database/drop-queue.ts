import { QueueInUseError, UnknownQueueError } from "../errors.js";
import type { OptionNames } from "../option-names.js";
import type { Tx } from "../seams/database.js";
import { defaults, flag } from "../settings.js";
import { binder } from "./bind.js";
import { derivedNames } from "./derived-names.js";
import { type MigrateSeams, step } from "./migrate.js";
import { type Names, withNames } from "./names.js";
import { runOn } from "./run-on.js";
import {
  findQueue,
  findQueueUse,
  forgetQueue,
  listArchiveDays,
  listQueueFunctions,
  readServer,
} from "./statements.generated.js";

export interface DropQueueOptions {
  /** Drop it although it has jobs or workers. The jobs are lost; its workers fail until they are stopped. */
  readonly force?: boolean;
}

export const dropQueueOptionNames: OptionNames<DropQueueOptions> = Object.freeze({ force: true });

/**
 * Drops a queue with everything it has, in one transaction under the migration lock. The table is locked first, so that no job can be enqueued between the look and the drop.
 * An archive of very many days goes in further transactions: each table is a few locks, and the server has only so many. If that is interrupted, a second call ends it.
 */
export async function dropQueue(
  seams: MigrateSeams,
  names: Names,
  options: DropQueueOptions = {},
): Promise<void> {
  const force = flag("force", options.force, false);
  const [server] = await seams.database.run(binder(names)(readServer, {}));
  if (server?.queues_exists !== true) throw new UnknownQueueError(names.queue, names.schema);
  const what = `dropping the queue ${names.queue}`;
  // A try whose commit was not answered may have dropped it.
  let wasFound = false;
  let isLeft = await step(seams, names, what, async (tx) => {
    if (await exists(tx, names)) {
      await dropAllButArchive(seams, tx, names, force);
      wasFound = true;
    } else if (!wasFound && !(await hasArchive(tx, names)))
      throw new UnknownQueueError(names.queue, names.schema);
    return await dropSomeOfArchive(tx, names);
  });
  while (isLeft) isLeft = await step(seams, names, what, (tx) => dropSomeOfArchive(tx, names));
}

async function exists(tx: Tx, names: Names): Promise<boolean> {
  return (await runOn(tx, binder(names)(findQueue, { name: names.queue }))).length > 0;
}

async function hasArchive(tx: Tx, names: Names): Promise<boolean> {
  const { rows } = await tx.query("select to_regclass($1) as found", [
    `${names.schema}.${names.queue}_archive`,
  ]);
  return (rows[0] as { found: string | null }).found !== null;
}

async function dropAllButArchive(seams: MigrateSeams, tx: Tx, names: Names, force: boolean): Promise<void> {
  const bind = binder(names);
  await tx.query(withNames("lock table leasehold.inbox in access exclusive mode", names));
  const [use] = await runOn(tx, bind(findQueueUse, { now: seams.clock.databaseNow() }));
  if (!force && use !== undefined && (use.has_jobs || use.workers.length > 0))
    throw new QueueInUseError(names.queue, use.workers, use.has_jobs);
  await tx.query(
    withNames("drop table if exists leasehold.inbox, leasehold.inbox_hot_keys, leasehold.inbox_turns", names),
  );
  await tx.query(withNames("drop sequence if exists leasehold.inbox_seq", names));
  const { functions } = derivedNames(names.queue);
  const found = await runOn(tx, bind(listQueueFunctions, { functions }));
  if (found.length > 0) await tx.query(`drop function ${found.map((row) => row.signature).join(", ")}`);
  await runOn(tx, bind(forgetQueue, {}));
}

/** Whether something is left. */
async function dropSomeOfArchive(tx: Tx, names: Names): Promise<boolean> {
  const limit = defaults.dropDaysMax + 1;
  const days = await runOn(tx, binder(names)(listArchiveDays, { limit }));
  if (days.length < limit) {
    await tx.query(withNames("drop table if exists leasehold.inbox_archive", names));
    return false;
  }
  const some = days.slice(0, defaults.dropDaysMax).map(({ name }) => `${names.schema}.${name}`);
  await tx.query(`drop table ${some.join(", ")}`);
  return true;
}
