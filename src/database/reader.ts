import type { Query } from "../seams/database.js";
import type { GuardedDatabase } from "./guarded-database.js";

/**
 * Who answers reads that may be a little old: lists, counts and charts. That is the primary, or a replica where there is one. What is asked before something is done, what says who holds
 * what, and what looks for faults asks the primary always.
 */
export interface Reader {
  run<R>(query: Query<R>): Promise<readonly R[]>;
  /** The same, with how old the answer is. */
  runAsOf<R>(query: Query<R>): Promise<DatedRows<R>>;
}

export interface DatedRows<R> {
  readonly rows: readonly R[];
  readonly source: "primary" | "replica";
  /** The answer has everything that was committed until then. Null for an answer of the primary, and where the replica does not know. */
  readonly asOf: Date | null;
}

export function primaryReader(primary: Pick<GuardedDatabase, "run">): Reader {
  return {
    run: (query) => primary.run(query),
    runAsOf: async (query) => ({ rows: await primary.run(query), source: "primary", asOf: null }),
  };
}
