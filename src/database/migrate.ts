import { DatabaseRefusedError, DatabaseUnavailableError, LeaseholdError, MigrationError } from "../errors.js";
import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import type { Tx } from "../seams/database.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import { binder } from "./bind.js";
import { withClosedFunctions } from "./closed-functions.js";
import { isDenied, notTheOwner } from "./denied.js";
import { grantAgain } from "./grant-again.js";
import { lockTables } from "./lock-tables.js";
import type { Library, Migration } from "./migration.js";
import { checksumOf, fileName, grantsId, grantsOf } from "./migration-files.js";
import { concerns, firstMissing, mayListQueues, type QueueShape } from "./missing-migrations.js";
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
    if (next.id === grantsId) continue;
    applied += 1;
    seams.events.emit("migration:applied", next);
  }
}

/** Applies all migrations of one queue that is being created, with its grants, on the caller's transaction. */
export async function migrateQueue(
  tx: Tx,
  library: Library,
  schema: string,
  queue: QueueShape,
): Promise<void> {
  const names = { schema, queue: queue.name };
  await withClosedFunctions(tx, names, async () => {
    for (const migration of library.migrations) {
      if (concerns(migration, queue)) await apply(tx, library, migration, { names, queue });
    }
  });
  await giveRights(tx, library, "queue", { names, queue });
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
        if (isDenied(error)) throw notTheOwner(names.schema, what, error);
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
  const library = libraryOf(seams);
  const done = await seams.database.run(bind(listMigrations, {}));
  if (!mayListQueues(library, done)) return false;
  const queues = await seams.database.run(bind(listQueues, {}));
  return firstMissing(library, done, queues as readonly QueueShape[]) === null;
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
  const queues = mayListQueues(library, done) ? await runOn(tx, bind(listQueues, {})) : [];
  const first = firstMissing(library, done, queues as readonly QueueShape[]);
  if (first === null) return null;
  const { migration, queue } = first;
  const own = { schema: names.schema, queue: queue?.name ?? names.queue };
  const place = { names: own, queue };
  const applied = { id: migration.id, name: migration.name, queue: queue?.name ?? "" };
  if (migration.id === grantsId) {
    await giveRights(tx, library, migration.scope, place);
    return applied;
  }
  await withClosedFunctions(tx, own, async () => {
    await lockTables(tx, migration.sql, own, limitMs);
    await apply(tx, library, migration, place);
  });
  const now = [...done, { ...applied, checksum: checksumOf(library, migration) }];
  const next = firstMissing(library, now, queue === null ? [] : [queue]);
  // With the last file of its scope, so that nobody meets a new function without the right to call it.
  if (next === null || next.migration.id === grantsId) await giveRights(tx, library, migration.scope, place);
  return applied;
}

/** Whose files run: the schema's, or those of a queue. */
interface Place {
  readonly names: Names;
  readonly queue: QueueShape | null;
}

async function giveRights(tx: Tx, library: Library, scope: Migration["scope"], place: Place): Promise<void> {
  await grantAgain(tx, library, place.names, scope);
  await record(tx, library, grantsOf(library, scope), place);
}

async function apply(tx: Tx, library: Library, migration: Migration, place: Place): Promise<void> {
  const { names, queue } = place;
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
  await record(tx, library, migration, place);
}

async function record(tx: Tx, library: Library, migration: Migration, place: Place): Promise<void> {
  const query = binder(place.names)(recordMigration, {
    id: migration.id,
    queue: place.queue?.name ?? "",
    name: migration.name,
    checksum: checksumOf(library, migration),
    revision: library.revision,
  });
  await runOn(tx, query);
}
