import { DatabaseUnavailableError, InvalidTxError, LeaseholdError } from "../errors.js";
import type { Database, Query, Tx } from "../seams/database.js";
import { explainAbsence } from "./explain-absence.js";

/**
 * Runs a bound query on a transaction of the user or of ours. An error of the server comes back as the driver raised it; with a `database` to ask, a schema or queue that is missing is
 * an error of ours.
 */
export async function runOn<R>(
  tx: Tx,
  query: Query<R>,
  database?: Pick<Database, "run">,
): Promise<readonly R[]> {
  checkTx(tx);
  let result: unknown;
  try {
    result = await tx.query(query.text, [...query.values]);
  } catch (error) {
    throw database === undefined
      ? notAnswered(error, query.name)
      : await explainAbsence(database, query, notAnswered(error, query.name));
  }
  const { rows } = (result ?? {}) as { readonly rows?: unknown };
  if (Array.isArray(rows)) return rows as readonly R[];
  const what = Array.isArray(result) ? "a list of rows" : "something else";
  throw new InvalidTxError(
    `its query() resolves with ${what} instead of { rows }; roll back, because a statement may have run`,
  );
}

/** By what it has: users come with the objects of many drivers and ORMs. */
function checkTx(tx: unknown): void {
  const isObject = (typeof tx === "object" && tx !== null) || typeof tx === "function";
  if (!isObject || !("query" in tx) || typeof tx.query !== "function")
    throw new InvalidTxError(isObject ? "it has no query() method" : "it is not an object");
  if (isUnconnected(tx)) throw new InvalidTxError("it is a client that was never connected");
  if (isIdle(tx))
    throw new InvalidTxError('it is a client without an open transaction; call query("begin") on it first');
  const isPool = "totalCount" in tx && "idleCount" in tx && "connect" in tx;
  if (isPool)
    throw new InvalidTxError("it is a pool, which runs each statement on any connection; use pool.connect()");
}

/** pg keeps the queries of a client until it is connected, which this one would never be. */
function isUnconnected(tx: object): boolean {
  const { _connected, _connecting } = tx as Readonly<Record<string, unknown>>;
  return _connected === false && _connecting === false;
}

/** The driver says so, if it is pg of a version that does, and nothing is under way that may begin one. */
function isIdle(tx: object): boolean {
  const { _activeQuery, _queryQueue, _ending, _queryable, getTransactionStatus } = tx as Readonly<
    Record<string, unknown>
  >;
  if (_ending === true || _queryable === false) return false; // Its query() says what is wrong with it.
  if (typeof getTransactionStatus !== "function" || (_activeQuery ?? null) !== null) return false;
  return Array.isArray(_queryQueue) && _queryQueue.length === 0 && getTransactionStatus.call(tx) === "I";
}

/** What is not the server's answer came from a connection that has ended or broke. Nothing of an open transaction has committed. */
function notAnswered(error: unknown, statement: string): unknown {
  const isOurs = error instanceof LeaseholdError || error instanceof TypeError;
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  const isAnswer = typeof code === "string" && !/^E[A-Z_]+$/.test(code);
  if (isOurs || isAnswer || !(error instanceof Error)) return error;
  return new DatabaseUnavailableError(statement, false, { cause: error });
}
