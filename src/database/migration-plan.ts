import { binder } from "./bind.js";
import type { MigrateSeams } from "./migrate.js";
import { fileName } from "./migration-files.js";
import { mayListQueues, missingMigrations, type QueueShape } from "./missing-migrations.js";
import { defaultNames, type Names } from "./names.js";
import { listMigrations, listQueueShapes, listQueues, readServer } from "./statements.generated.js";
import { checkMayWork, libraryOf } from "./version.js";

/** A migration that migrate() would run now. */
export interface PlannedMigration {
  /** Its file in sql/migrations, or "grants": the rights of the roles. */
  readonly file: string;
  /** Null for one that concerns the whole schema. */
  readonly queue: string | null;
  /** True when its text has changed since it ran. */
  readonly isRepeated: boolean;
}

/** What migrate() would run now, in its order. Changes nothing; empty when the schema is current, or newer than this library. */
export async function planMigrations(
  seams: MigrateSeams,
  schema: string,
): Promise<readonly PlannedMigration[]> {
  const names: Names = { schema, queue: defaultNames.queue };
  const library = libraryOf(seams);
  const version = await checkMayWork(seams, names);
  if (version !== null && version.revision > library.revision) return [];
  const bind = binder(names);
  const [server] = await seams.database.run(bind(readServer, {}));
  const done = server?.migrations_exists === true ? await seams.database.run(bind(listMigrations, {})) : [];
  const shapes = mayListQueues(library, done) ? listQueues : listQueueShapes;
  const queues = server?.queues_exists === true ? await seams.database.run(bind(shapes, {})) : [];
  const ran = new Set(done.map((row) => `${row.queue}#${row.id}`));
  return [...missingMigrations(library, done, queues as readonly QueueShape[])].map(
    ({ migration, queue }) => ({
      file: fileName(migration),
      queue: queue?.name ?? null,
      isRepeated: ran.has(`${queue?.name ?? ""}#${migration.id}`),
    }),
  );
}
