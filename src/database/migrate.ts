import { DatabaseRefusedError, DatabaseUnavailableError, LeaseholdError, MigrationError } from "../errors.js";
import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import type { Tx } from "../seams/database.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import { binder, shortHash } from "./bind.js";
import { withClosedFunctions } from "./closed-functions.js";
import { grantAgain } from "./grant-again.js";
import { lockTables } from "./lock-tables.js";
import type { Library, Migration } from "./migration.js";
import { defaultNames, type Names, withNames } from "./names.js";
import { runOn } from "./run-on.js";
import {
  listMigrations,
  listQueues,
  readServer,
  recordMigration,
  recordVersion,
} from "./statements.generated.js";
import { checkMayChange, checkMayWork, libraryOf, type VersionSeams } from "./version.js";

export interface QueueShape {
  readonly name: string;
  readonly order: "key" | "none";
  readonly buckets: number;
}

export interface MigrateSeams extends VersionSeams {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
}

/**
 * Brings the schema and every queue in it up to date. Each step is one transaction under one advisory lock, so any number of
 * processes may start at once: one does the work, the others find it done. A step waits at most 900 ms for all its table locks together and is
 * tried again later, so nobody is kept from a table for longer. The first tries wait less. Returns how many migrations ran: none where the schema is newer than this library.
 */
export async function migrate(seams: MigrateSeams, schema: string): Promise<number> {
  const names: Names = { schema, queue: defaultNames.queue };
  const library = libraryOf(seams);
  const version = await checkMayWork(seams, names);
  if (version !== null && version.revision > library.revision) {
    seams.events.emit("migration:skipped", { schema, revision: version.revision, own: library.revision });
    return 0;
  }
  if (version?.revision === library.revision && (await isCurrent(seams, names))) return 0;
  await step(seams, names, "the schema's own tables", (tx) => createSchema(tx, library, names));
  let applied = 0;
  for (;;) {
    const next = await step(seams, names, "the next file", (tx, limitMs) =>
      applyNext(tx, library, { names, limitMs }),
    );
    if (next === null) return applied;
    applied += 1;
    seams.events.emit("migration:applied", next);
  }
}

/** Applies all migrations of one queue that is being created, on the caller's transaction. */
export async function migrateQueue(
  tx: Tx,
  library: Library,
  schema: string,
  queue: QueueShape,
): Promise<void> {
  const names = { schema, queue: queue.name };
  await withClosedFunctions(tx, names, async () => {
    for (const migration of library.migrations) {
      if (concerns(migration, queue))
        await apply(tx, { migration, revision: library.revision }, names, queue);
    }
  });
}

/** Runs work in a transaction that holds the migration lock; tries again while locks can't be had. */
export async function step<T>(
  seams: MigrateSeams,
  names: Names,
  what: string,
  work: (tx: Tx, limitMs: number) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const limitMs = Math.min(defaults.migrateFirstLockMs * 2 ** (tries - 1), defaults.migrateLockTimeoutMs);
    try {
      return await seams.database.transaction(async (tx) => {
        // In place of those of the role, which are meant for other statements.
        const limits = `set local lock_timeout = '${defaults.migrateLockTimeoutMs}ms'; set local statement_timeout = '${defaults.statementTimeoutMs}ms'`;
        await tx.query(`${limits}; set local search_path = pg_catalog, pg_temp`);
        await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
          `leasehold migrations ${names.schema}`,
        ]);
        await checkMayChange(tx, libraryOf(seams), names);
        return await work(tx, limitMs);
      }, "ours");
    } catch (error) {
      if (!isCurable(error) || tries >= defaults.migrateTriesMax) {
        if (error instanceof LeaseholdError && !isCurable(error)) throw error;
        throw new MigrationError(`${what}: ${error instanceof Error ? error.message : error}`, {
          cause: error,
        });
      }
      // Longer than the wait, so that others work most of the time.
      await seams.clock.sleep(limitMs * (1 + seams.random.fraction()));
    }
  }
}

function isCurable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailableError) return true;
  return error instanceof DatabaseRefusedError && ["55P03", "40001", "40P01"].includes(error.sqlState);
}

async function isCurrent(seams: MigrateSeams, names: Names): Promise<boolean> {
  const bind = binder(names);
  const [server] = await seams.database.run(bind(readServer, {}));
  if (server?.migrations_exists !== true || !server.queues_exists) return false;
  const done = await seams.database.run(bind(listMigrations, {}));
  const queues = await seams.database.run(bind(listQueues, {}));
  return firstMissing(libraryOf(seams), done, queues as readonly QueueShape[]) === null;
}

/** The first file that the schema or one queue of it still lacks, or null. A schema newer than the library lacks nothing. */
export async function missingFile(
  seams: MigrateSeams,
  names: Names,
  queue: QueueShape,
): Promise<string | null> {
  const done = await seams.database.run(binder(names)(listMigrations, {}));
  const applied = new Set(done.map((row) => `${row.queue}#${row.id}`));
  for (const migration of libraryOf(seams).migrations) {
    const scope = migration.scope === "schema" ? "" : queue.name;
    if (scope !== "" && !concerns(migration, queue)) continue;
    if (!applied.has(`${scope}#${migration.id}`)) return fileName(migration);
  }
  return null;
}

async function createSchema(tx: Tx, library: Library, names: Names): Promise<void> {
  const { rows } = await tx.query("select 1 from pg_namespace where nspname = $1", [names.schema]);
  if (rows.length === 0) await tx.query(withNames("create schema leasehold", names));
  const table = `create table if not exists leasehold.migrations (
    id int not null, queue text not null default '', name text not null, checksum text not null, applied_at timestamptz not null default now(),
    primary key (queue, id))`;
  await tx.query(withNames(table, names));
  await tx.query(withNames("alter table leasehold.migrations add column if not exists revision int", names));
  const version = `create table if not exists leasehold.schema_version (
    is_only boolean primary key default true check (is_only), revision int not null, oldest int not null, migrated_at timestamptz not null default now())`;
  await tx.query(withNames(version, names));
  // Before the first file, so that no older library begins in between.
  const { revision, oldest } = library;
  await runOn(tx, binder(names)(recordVersion, { revision, oldest }));
}

async function applyNext(
  tx: Tx,
  library: Library,
  { names, limitMs }: { readonly names: Names; readonly limitMs: number },
): Promise<{ id: number; name: string; queue: string } | null> {
  const bind = binder(names);
  const done = await runOn(tx, bind(listMigrations, {}));
  const hasQueues = done.some((row) => row.queue === "" && row.id === 1);
  const queues = hasQueues ? ((await runOn(tx, bind(listQueues, {}))) as readonly QueueShape[]) : [];
  const missing = firstMissing(library, done, queues);
  if (missing === null) return null;
  const { migration, queue } = missing;
  const own = { schema: names.schema, queue: queue?.name ?? names.queue };
  await withClosedFunctions(tx, own, async () => {
    await lockTables(tx, migration.sql, own, limitMs);
    await apply(tx, { migration, revision: library.revision }, own, queue);
  });
  const now = [...done, { id: migration.id, queue: queue?.name ?? "", checksum: shortHash(migration.sql) }];
  const isComplete = firstMissing(library, now, queue === null ? [] : [queue]) === null;
  if (isComplete) await grantAgain(tx, own, migration.scope);
  return { id: migration.id, name: migration.name, queue: queue?.name ?? "" };
}

interface AppliedMigration {
  readonly id: number;
  readonly queue: string;
  readonly checksum: string;
}

/**
 * Schema migrations come first, then those of each queue, in the order of their numbers. A file whose text has changed since it ran
 * runs again: each may be run any number of times. Only a library that is not older than the schema comes here.
 */
function firstMissing(
  { migrations }: Library,
  done: readonly AppliedMigration[],
  queues: readonly QueueShape[],
): { migration: Migration; queue: QueueShape | null } | null {
  const applied = new Map(done.map((row) => [`${row.queue}#${row.id}`, row.checksum]));
  const isMissing = (migration: Migration, queue: string) =>
    applied.get(`${queue}#${migration.id}`) !== shortHash(migration.sql);
  for (const migration of migrations) {
    if (migration.scope === "schema" && isMissing(migration, "")) return { migration, queue: null };
  }
  for (const migration of migrations) {
    for (const queue of queues) {
      if (concerns(migration, queue) && isMissing(migration, queue.name)) return { migration, queue };
    }
  }
  return null;
}

function concerns(migration: Migration, queue: QueueShape): boolean {
  return migration.scope === "queue" && (migration.order === null || migration.order === queue.order);
}

async function apply(
  tx: Tx,
  { migration, revision }: { readonly migration: Migration; readonly revision: number },
  names: Names,
  queue: QueueShape | null,
): Promise<void> {
  const sql = withNames(migration.sql, names).replaceAll(
    "360 /* buckets */",
    String(queue?.buckets ?? defaults.buckets),
  );
  try {
    await tx.query(sql);
  } catch (error) {
    if (isCurable(error)) throw error;
    throw new MigrationError(`${fileName(migration)}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
  const record = binder(names)(recordMigration, {
    id: migration.id,
    queue: queue?.name ?? "",
    name: migration.name,
    checksum: shortHash(migration.sql),
    revision,
  });
  await runOn(tx, record);
}

function fileName(migration: Migration): string {
  return `${String(migration.id).padStart(4, "0")}_${migration.name}`;
}
