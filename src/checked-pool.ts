import { InvalidOptionError } from "./errors.js";

/** What the library uses of a pool. A single client of pg has the same methods, and an ended pool answers nothing. */
export function checkPoolShape(pool: unknown): void {
  if (pool === undefined) return;
  const { connect, on, off, connectionParameters, ending } = (pool ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const isPool =
    [connect, on, off].every((method) => typeof method === "function") && connectionParameters === undefined;
  if (!isPool) throw new InvalidOptionError("pool", pool, "a pool of the package pg (new pg.Pool(...))");
  if (ending === true) throw new InvalidOptionError("pool", pool, "a pool that has not been ended");
}
