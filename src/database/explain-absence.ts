import { DatabaseRefusedError, NotMigratedError, UnknownQueueError } from "../errors.js";
import type { Database, Query } from "../seams/database.js";
import { defaults } from "../settings.js";
import { binder } from "./bind.js";
import { findQueue, readServer } from "./statements.generated.js";

/** No such table, function or schema. */
const absentStates: ReadonlySet<unknown> = new Set(["42P01", "42883", "3F000"]);

/**
 * What an error about something absent means for a statement of ours: the schema was never migrated, or the queue was dropped. Everything else comes back as it is, also what is missing in
 * triggers and functions of the user's. Asks on a connection of its own, because a transaction that failed answers nothing more.
 */
export async function explainAbsence(
  database: Pick<Database, "run">,
  query: Query<unknown>,
  error: unknown,
): Promise<unknown> {
  if (query.place === undefined || !absentStates.has(sqlStateOf(error))) return error;
  const { schema, queue } = query.place;
  const bind = binder({ schema, queue: queue ?? defaults.queue });
  try {
    const [server] = await database.run(bind(readServer, {}));
    if (server?.queues_exists !== true)
      return new NotMigratedError(schema, "its tables are missing", { cause: error });
    if (queue !== null && (await database.run(bind(findQueue, { name: queue }))).length === 0)
      return new UnknownQueueError(queue, schema, { cause: error });
  } catch {
    // The first error says more.
  }
  return error;
}

function sqlStateOf(error: unknown): unknown {
  if (error instanceof DatabaseRefusedError) return error.sqlState;
  return typeof error === "object" && error !== null && "code" in error ? error.code : null;
}
