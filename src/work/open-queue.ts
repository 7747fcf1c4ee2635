import { binder } from "../database/bind.js";
import { type MigrateSeams, migrateQueue, missingFile, step } from "../database/migrate.js";
import { grants } from "../database/migrations.generated.js";
import { type Names, withNames } from "../database/names.js";
import { runOn } from "../database/run-on.js";
import { findQueue, insertQueue, makeArchiveDays, readServer } from "../database/statements.generated.js";
import {
  DatabaseRefusedError,
  InvalidNameError,
  NotMigratedError,
  RingMismatchError,
  UnknownQueueError,
} from "../errors.js";
import type { Tx } from "../seams/database.js";
import { defaults } from "../settings.js";
import { agreed, type QueueOptions, type QueueSettings, qualified } from "./queue-settings.js";

/** Finds a queue and checks that its settings agree, or creates it. Without an order it is only found. */
export async function openQueue(
  seams: MigrateSeams,
  names: Names,
  options: QueueOptions,
): Promise<QueueSettings> {
  const wanted = qualified(names.queue, names.schema, options);
  const [server] = await seams.database.run(binder(names)(readServer, {}));
  if (server?.queues_exists !== true) throw new NotMigratedError(names.schema, "its tables are missing");
  const stored = await find(seams, names);
  if (stored !== null) {
    const settings = agreed(stored, options);
    const missing = await missingFile(seams, names, settings);
    if (missing !== null) throw new NotMigratedError(names.schema, `it lacks the migration ${missing}`);
    return settings;
  }
  if (options.order === undefined) throw new UnknownQueueError(names.queue, names.schema);
  await step(seams, names, `the new queue ${names.queue}`, (tx) => create(tx, names, wanted));
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
    dedupeWindowMs: row.dedupe_window_ms,
  };
}

type StoredQueue = Omit<QueueSettings, "payloadLimitBytes" | "maxAttempts">;

/** Everything of a new queue in one transaction: its row, its tables and functions, its first archive days, its grants. */
async function create(tx: Tx, names: Names, wanted: QueueSettings): Promise<void> {
  const bind = binder(names);
  if ((await runOn(tx, bind(findQueue, { name: names.queue }))).length > 0) return;
  const { rows } = await tx.query("select to_regclass($1) as taken", [`${names.schema}.${names.queue}`]);
  if ((rows[0] as { taken: string | null }).taken !== null) {
    throw new InvalidNameError("queue", names.queue, "the schema has a table or index of that name");
  }
  await migrateQueue(tx, names.schema, { name: names.queue, order: wanted.order, buckets: wanted.buckets });
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
      dedupeWindowMs: wanted.dedupeWindowMs,
    }),
  );
  await runOn(tx, bind(makeArchiveDays, { days: defaults.archiveDaysAhead, now: null }));
  await tx.query(withNames(grants.queue, names));
}
