import { OutdatedLibraryError } from "../errors.js";
import type { Tx } from "../seams/database.js";
import { binder } from "./bind.js";
import type { GuardedDatabase } from "./guarded-database.js";
import type { Library } from "./migration.js";
import { library as ourLibrary } from "./migrations.generated.js";
import type { Names } from "./names.js";
import { runOn } from "./run-on.js";
import { findVersion, readServer } from "./statements.generated.js";

/**
 * The schema knows the revision of the library that migrated it last, and of the oldest one that may work on it. An older library never changes tables and functions; it
 * works on while it may, and otherwise says so: when a queue is opened, when it migrates, and by draining its workers.
 */
export interface SchemaVersion {
  readonly revision: number;
  readonly oldest: number;
}

export interface VersionSeams {
  readonly database: GuardedDatabase;
  /** Another version's SQL, for tests. */
  readonly library?: Library;
}

export function libraryOf(seams: { readonly library?: Library }): Library {
  return seams.library ?? ourLibrary;
}

/** Null for a schema that does not exist, or is older than revisions are. */
export async function schemaVersion(seams: VersionSeams, names: Names): Promise<SchemaVersion | null> {
  const bind = binder(names);
  const [server] = await seams.database.run(bind(readServer, {}));
  if (server?.version_exists !== true) return null;
  return (await seams.database.run(bind(findVersion, {})))[0] ?? null;
}

/** Raises OutdatedLibraryError when this library may not work on the schema any more. */
export async function checkMayWork(seams: VersionSeams, names: Names): Promise<SchemaVersion | null> {
  const version = await schemaVersion(seams, names);
  const { revision } = libraryOf(seams);
  if (version !== null && revision < version.oldest)
    throw new OutdatedLibraryError(names.schema, { ...version, own: revision }, "work on it");
  return version;
}

/** On a transaction that holds the migration lock: raises when the schema is newer than this library. */
export async function checkMayChange(tx: Tx, library: Library, names: Names): Promise<void> {
  const bind = binder(names);
  const [server] = await runOn(tx, bind(readServer, {}));
  if (server?.version_exists !== true) return;
  const [version] = await runOn(tx, bind(findVersion, {}));
  if (version !== undefined && version.revision > library.revision)
    throw new OutdatedLibraryError(names.schema, { ...version, own: library.revision }, "change it");
}
