import type pg from "pg";

/**
 * Keeps lost connections of a pool from ending the process: an `error` event without a listener does. An idle client reports to the pool; one
 * that is checked out reports to the query under way and emits the event on top. The pool may be older than this connection, so the
 * listener goes on at checkout, once for each client, and it is on also while others have the client. Returns what takes all
 * listeners off again.
 */
export function surviveLosses(pool: pg.Pool, onIdleError: (error: Error) => void): () => void {
  const clients = new Set<pg.PoolClient>();
  const onAcquire = (client: pg.PoolClient): void => {
    if (clients.has(client)) return;
    clients.add(client);
    client.on("error", ignore);
  };
  // A client that was removed may still break while it ends, so it keeps its listener.
  const onRemove = (client: pg.PoolClient): void => void clients.delete(client);
  pool.on("error", onIdleError);
  pool.on("acquire", onAcquire);
  pool.on("remove", onRemove);
  return () => {
    pool.off("error", onIdleError);
    pool.off("acquire", onAcquire);
    pool.off("remove", onRemove);
    for (const client of clients) client.off("error", ignore);
    clients.clear();
  };
}

function ignore(): void {}
