import { binder } from "../database/bind.js";
import { derivedNames } from "../database/derived-names.js";
import { type MigrateSeams, migrateQueue, missingFile, step } from "../database/migrate.js";
import type { Library } from "../database/migration.js";
import type { Names } from "../database/names.js";
import { runOn } from "../database/run-on.js";
import { findQueue, findTakenNames, insertQueue, makeArchiveDays } from "../database/statements.generated.js";
import { checkMayWork, libraryOf } from "../database/version.js";
import {
  DatabaseRefusedError,
  InvalidNameError,
  NotMigratedError,
  RingMismatchError,
  UnknownQueueError,
} from "../errors.js";
import type { Tx } from "../seams/database.js";
import { defaults } from "../settings.js";
import type { QueueOptions } from "./queue-options.js";
import type { QueueSeams } from "./queue-seams.js";
import { agreed, type QueueSettings, qualified } from "./queue-settings.js";
import { storedQueue } from "./stored-queue.js";

/** Finds a queue and checks that what is fixed of it agrees, or creates it. Without an order it is only found. */
export async function openQueue(
  seams: MigrateSeams,
  names: Names,
  options: QueueOptions,
): Promise<OpenedQueue> {
  const wanted = qualified(names.queue, names.schema, options);
  await checkMayWork(seams, names);
  const found = await find(seams, names);
  if (found !== null) {
    const opened = agree(seams, found, options);
    const file = await missingFile(seams, names, opened.settings);
    if (file !== null) throw new NotMigratedError(names.schema, `it lacks the migration ${file}`);
    return opened;
  }
  if (options.order === undefined) throw new UnknownQueueError(names.queue, names.schema);
  await step(seams, names, `the new queue ${names.queue}`, (tx) =>
    create(tx, libraryOf(seams), names, wanted),
  );
  const created = await find(seams, names);
  if (created === null) throw new UnknownQueueError(names.queue, names.schema);
  return agree(seams, created, options);
}

type OpenedQueue = Pick<QueueSeams, "settings" | "createdUs">;

interface Found {
  readonly stored: Omit<QueueSettings, "payloadLimitBytes">;
  readonly createdUs: string;
}

function agree(seams: MigrateSeams, { stored, createdUs }: Found, options: QueueOptions): OpenedQueue {
  const { settings, differences } = agreed(stored, options);
  if (differences.length > 0) seams.events.emit("queue:differs", { queue: stored.name, differences });
  return { settings, createdUs };
}

/** What the server says of a table and of a column that do not exist. */
const missing = new Map([
  ["42P01", "its tables are missing"],
  ["42703", "its tables are older than the library"],
]);

async function find(seams: MigrateSeams, names: Names): Promise<Found | null> {
  const query = binder(names)(findQueue, { name: names.queue });
  const [row] = await seams.database.run(query).catch((error: unknown) => {
    const lack = error instanceof DatabaseRefusedError ? missing.get(error.sqlState) : undefined;
    throw lack === undefined ? error : new NotMigratedError(names.schema, lack);
  });
  if (row === undefined) return null;
  if (row.ring_hash !== defaults.ringHash)
    throw new RingMismatchError(row.name, row.ring_hash, defaults.ringHash);
  return { stored: { ...storedQueue(row), schema: names.schema }, createdUs: row.created_us };
}

/** Everything of a new queue in one transaction: its row, its tables and functions, their grants, its first archive days. */
async function create(tx: Tx, library: Library, names: Names, wanted: QueueSettings): Promise<void> {
  const bind = binder(names);
  if ((await runOn(tx, bind(findQueue, { name: names.queue }))).length > 0) return;
  await checkNamesAreFree(tx, names);
  await migrateQueue(tx, library, names.schema, {
    name: names.queue,
    order: wanted.order,
    buckets: wanted.buckets,
  });
  await runOn(
    tx,
    bind(insertQueue, {
      name: wanted.name,
      order: wanted.order,
      isStrict: wanted.strict,
      onDeadLetter: wanted.onDeadLetter,
      buckets: wanted.buckets,
      ring: wanted.ring,
      vnodes: wanted.vnodes,
      preferRegions: wanted.preferRegions,
      excludeRegions: wanted.excludeRegions,
      retentionMs: wanted.retentionMs,
      deadLetterRetentionMs: wanted.deadLetterRetentionMs,
      dedupeWindowMs: wanted.dedupeWindowMs,
      maxAttempts: wanted.maxAttempts,
      maxCrashes: wanted.maxCrashes,
      kinds: JSON.stringify(wanted.kinds),
    }),
  );
  await runOn(tx, bind(makeArchiveDays, { days: defaults.archiveDaysAhead, now: null }));
}

/** `create table if not exists` would leave a table of somebody else's in the place of ours. */
async function checkNamesAreFree(tx: Tx, names: Names): Promise<void> {
  const dayPattern = `^${names.queue}_a[0-9]{8}$`;
  const taken = await runOn(tx, binder(names)(findTakenNames, { ...derivedNames(names.queue), dayPattern }));
  if (taken.length === 0) return;
  const found = taken.map((row) => row.name).join(", ");
  throw new InvalidNameError("queue", names.queue, `the schema ${names.schema} already has ${found}`);
}
