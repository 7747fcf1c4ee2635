import { DatabaseUnavailableError } from "../errors.js";
import type { Query } from "../seams/database.js";

/**
 * Sends what may read a whole table. It is not sent again when no answer came: the server may still be at the first, and a second beside it makes both slower. `advice` says what to ask instead.
 */
export async function readWhole<R, T>(
  query: Query<R>,
  send: (query: Query<R>) => Promise<T>,
  advice: string,
): Promise<T> {
  try {
    return await send({ ...query, repeatsUnanswered: false });
  } catch (error) {
    throw unanswered(query.name, error, advice);
  }
}

function unanswered(statement: string, error: unknown, advice: string): unknown {
  if (!(error instanceof DatabaseUnavailableError) || !error.isAmbiguous) return error;
  const words = `The server may still be at it, so it was not sent again. ${advice}`;
  return new DatabaseUnavailableError(statement, true, { cause: error.cause, advice: words });
}
