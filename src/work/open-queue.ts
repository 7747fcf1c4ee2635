import { binder } from "../database/bind.js";
import { derivedNames } from "../database/derived-names.js";
import { type MigrateSeams, migrateQueue, missingFile, step } from "../database/migrate.js";
import type { Library } from "../database/migration.js";
import { grants } from "../database/migrations.generated.js";
import { type Names, withNames } from "../database/names.js";
import { runOn } from "../database/run-on.js";
import {
  findQueue,
  findTakenNames,
  insertQueue,
  makeArchiveDays,
  readServer,
} from "../database/statements.generated.js";
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
import { type KindPolicies, kindPolicies } from "./kind-policies.js";
import { agreed, type QueueOptions, type QueueSettings, qualified } from "./queue-settings.js";

/** Finds a queue and checks that its settings agree, or creates it. Without an order it is only found. */
export async function openQueue(
  seams: MigrateSeams,
  names: Names,
  options: QueueOptions,
): Promise<QueueSettings> {
  const wanted = qualified(names.queue, names.schema, options);
  const [server] = await seams.database.run(binder(names)(readServer, {}));
  await checkMayWork(seams, names);
  if (server?.queues_exists !== true) throw new NotMigratedError(names.schema, "its tables are missing");
  const stored = await find(seams, names);
  if (stored !== null) {
    const settings = agreed(stored, options);
    const missing = await missingFile(seams, names, settings);
    if (missing !== null) throw new NotMigratedError(names.schema, `it lacks the migration ${missing}`);
    return settings;
  }
  if (options.order === undefined) throw new UnknownQueueError(names.queue, names.schema);
  await step(seams, names, `the new queue ${names.queue}`, (tx) =>
    create(tx, libraryOf(seams), names, wanted),
  );
  const created = await find(seams, names);
  if (created === null) throw new UnknownQueueError(names.queue, names.schema);
  return agreed(created, options);
}

const undefinedColumn = "42703";

async function find(seams: MigrateSeams, names: Names): Promise<StoredQueue | null> {
  const query = binder(names)(findQueue, { name: names.queue });
  const [row] = await seams.database.run(query).catch((error: unknown) => {
    const isOld = error instanceof DatabaseRefusedError && error.sqlState === undefinedColumn;
    throw isOld ? new NotMigratedError(names.schema, "its tables are older than the library") : error;
  });
  if (row === undefined) return null;
  if (row.ring_hash !== defaults.ringHash)
    throw new RingMismatchError(row.name, row.ring_hash, defaults.ringHash);
  return {
    name: row.name,
    schema: names.schema,
    order: row.order as "key" | "none",
    strict: row.is_strict,
    onDeadLetter: row.on_dead_letter as "continue" | "park",
    buckets: row.buckets,
    ring: row.ring as "rendezvous" | "consistent",
    vnodes: row.vnodes,
    preferRegions: row.prefer_regions,
    excludeRegions: row.exclude_regions,
    retentionMs: row.retention_ms,
    deadLetterRetentionMs: row.dead_letter_retention_ms,
    dedupeWindowMs: row.dedupe_window_ms,
    maxAttempts: row.max_attempts,
    maxCrashes: row.max_crashes,
    kinds: kindPolicies(row.kinds as KindPolicies),
  };
}

type StoredQueue = Omit<QueueSettings, "payloadLimitBytes">;

/** Everything of a new queue in one transaction: its row, its tables and functions, its first archive days, its grants. */
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
  await tx.query(withNames(grants.queue, names));
}

/** `create table if not exists` would leave a table of somebody else's in the place of ours. */
async function checkNamesAreFree(tx: Tx, names: Names): Promise<void> {
  const dayPattern = `^${names.queue}_a[0-9]{8}$`;
  const taken = await runOn(tx, binder(names)(findTakenNames, { ...derivedNames(names.queue), dayPattern }));
  if (taken.length === 0) return;
  const found = taken.map((row) => row.name).join(", ");
  throw new InvalidNameError("queue", names.queue, `the schema ${names.schema} already has ${found}`);
}
