/**
 * What the library needs of a database: run one prepared query, or several in one transaction. Two verbs, so that a
 * simulation can stand in between and let real SQL do the rest.
 */

/** A named block of sql/statements, before names and values are bound. Made by scripts/generate.ts. */
export interface Statement<P, R> {
  readonly name: string;
  readonly text: string;
  readonly parameters: readonly (keyof P & string)[];
  /** Never set; carries the type of a row. */
  readonly row?: R;
}

/** A statement bound to a schema, a queue and values. `name` is also the name of the server-side prepared statement. */
export interface Query<R> {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Whose tables and functions it needs; `queue` is null for a statement of the schema alone. */
  readonly place?: { readonly schema: string; readonly queue: string | null };
  /** How long an answer may take, and how often it is tried, where that is less than for other queries. */
  readonly timeoutMs?: number;
  readonly triesMax?: number;
  /** Whether it is tried again when it gave up waiting for a lock. */
  readonly repeatsWhenLocked?: boolean;
  /** False: it is not sent again when no answer came, since the first may still be under way. */
  readonly repeatsUnanswered?: boolean;
  readonly row?: R;
}

/** Anything with query(text, values): a pg client, or one of the small adapters over other drivers and ORMs. */
export interface Tx {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** A transaction of the library's, as the callbacks of lh.transaction and job.transaction get it. `R` is what you know of the rows. */
export interface OpenTx extends Tx {
  query<R = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly R[]; readonly rowCount: number | null }>;
}

/** A transaction on a connection of ours: our own statements go by their names, so that the server need not plan them each time. */
export interface OwnTx extends OpenTx {
  run<R>(query: Query<R>): Promise<readonly R[]>;
}

export interface Database {
  /** Runs a query in a transaction of its own, read committed. Rejects with an error of src/errors.ts. */
  run<R>(query: Query<R>): Promise<readonly R[]>;
  /**
   * Runs work in one transaction, read committed, on one connection; commits when it resolves, rolls back when it rejects. A lost
   * connection is an error of src/errors.ts; what the server refuses is one too when `whose` is "ours", else it is the driver's, as the
   * user's own code expects it.
   */
  transaction<T>(work: (tx: OwnTx) => Promise<T>, whose?: "ours" | "theirs"): Promise<T>;
  close(): Promise<void>;
}
