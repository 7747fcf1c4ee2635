import type { Library, Migration } from "./migration.js";
import { checksumOf, filesOf } from "./migration-files.js";

export interface QueueShape {
  readonly name: string;
  readonly order: "key" | "none";
  readonly buckets: number;
}

interface AppliedMigration {
  readonly id: number;
  readonly queue: string;
  readonly checksum: string;
}

export interface MissingMigration {
  readonly migration: Migration;
  readonly queue: QueueShape | null;
}

export function firstMissing(
  library: Library,
  done: readonly AppliedMigration[],
  queues: readonly QueueShape[],
): MissingMigration | null {
  for (const first of missingMigrations(library, done, queues)) return first;
  return null;
}

/** Until the schema's own files have run, queues can't be listed: the statement may need columns that only those files add. */
export function mayListQueues(library: Library, done: readonly AppliedMigration[]): boolean {
  return firstMissing(library, done, []) === null;
}

/**
 * Schema migrations come first, then those of each queue, in the order of their numbers, and their grants last. A file whose text has changed since it ran
 * runs again: each may be run any number of times. Only a library that is not older than the schema comes here.
 */
export function* missingMigrations(
  library: Library,
  done: readonly AppliedMigration[],
  queues: readonly QueueShape[],
): Generator<MissingMigration> {
  const applied = new Map(done.map((row) => [`${row.queue}#${row.id}`, row.checksum]));
  const isMissing = (migration: Migration, queue: string): boolean =>
    applied.get(`${queue}#${migration.id}`) !== checksumOf(library, migration);
  for (const migration of filesOf(library, "schema")) {
    if (isMissing(migration, "")) yield { migration, queue: null };
  }
  for (const migration of filesOf(library, "queue")) {
    for (const queue of queues) {
      if (concerns(migration, queue) && isMissing(migration, queue.name)) yield { migration, queue };
    }
  }
}

export function concerns(migration: Migration, queue: QueueShape): boolean {
  return migration.scope === "queue" && (migration.order === null || migration.order === queue.order);
}
