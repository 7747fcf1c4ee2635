import type { Query, Tx } from "../seams/database.js";

/** Runs a bound query on a transaction, whoever opened it. */
export async function runOn<R>(tx: Tx, query: Query<R>): Promise<readonly R[]> {
  return (await tx.query(query.text, [...query.values])).rows as readonly R[];
}
