import { InvalidOptionError } from "./errors.js";

/** A pool of the package pg, by what is used of it, so that the library's types need none of pg's. */
export interface PostgresPool {
  connect(): Promise<{ release(): void }>;
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  end(): Promise<void>;
  readonly totalCount: number;
  readonly options?: object | undefined;
}

/** What the library uses of a pool. A single client of pg has the same methods, and an ended pool answers nothing. */
export function checkPoolShape(pool: unknown): void {
  const { connect, on, off, connectionParameters, ending } = (pool ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const isPool =
    [connect, on, off].every((method) => typeof method === "function") && connectionParameters === undefined;
  if (!isPool) throw new InvalidOptionError("pool", pool, "a pool of the package pg (new pg.Pool(...))");
  if (ending === true) throw new InvalidOptionError("pool", pool, "a pool that has not been ended");
}
