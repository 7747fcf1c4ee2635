import pg from "pg";
import { ClosedError, DatabaseRefusedError, DatabaseUnavailableError } from "../errors.js";
import type { Events } from "../events.js";
import type { Database, OwnTx, Query } from "../seams/database.js";
import { defaults } from "../settings.js";
import { fromDriver, isPreparedStatementTrouble } from "./driver-errors.js";

export type PostgresPool = pg.Pool;

export interface PoolOptions {
  readonly url: string;
  readonly connectionsMax: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

export function createPool(options: PoolOptions): pg.Pool {
  return new pg.Pool({
    connectionString: options.url,
    max: options.connectionsMax,
    connectionTimeoutMillis: options.connectTimeoutMs,
    // Counted in the client: a deadline that also holds when the server is frozen or the network swallows the answer.
    query_timeout: options.statementTimeoutMs,
    keepAlive: true,
    application_name: "leasehold",
  });
}

/**
 * The Database over a pg pool. Failures arrive as errors of src/errors.ts. Connections on which something went wrong on the wire
 * are thrown away. Named statements are used until the first sign that they do not work here.
 */
export class NodePostgres implements Database {
  readonly #pool: pg.Pool;
  readonly #isOwnPool: boolean;
  readonly #events: Events;
  readonly #onIdleError: (error: Error) => void;
  /** Users' transactions never take the last connections, on which leases are renewed and outcomes written. */
  readonly #permits: Permits;
  #usesNames = true;
  #isClosed = false;
  #isDirect = false;
  /** True where the server's default isolation level is not read committed: then every call opens its own transaction. */
  needsExplicitIsolation = false;

  constructor(pool: pg.Pool, isOwnPool: boolean, events: Events) {
    this.#pool = pool;
    this.#isOwnPool = isOwnPool;
    this.#events = events;
    this.#permits = new Permits(Math.max(1, (pool.options?.max ?? 1) - defaults.connectionsReserved));
    // An idle client whose backend is ended emits an error; without a listener that ends the process.
    this.#onIdleError = (error) => events.emit("connection:lost", { reason: error.message });
    pool.on("error", this.#onIdleError);
    pool.on("connect", ignoreLateErrors);
  }

  /** Finds out whether a pooler stands in between: then another process answers than the one that was announced. */
  async lookForPooler(): Promise<void> {
    const client = await this.#connect("look_for_pooler");
    try {
      const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
      this.#isDirect = rows[0]?.pid === (client as unknown as { processID: number | null }).processID;
      client.release();
    } catch (error) {
      throw this.#failed(client, error, "look_for_pooler");
    }
  }

  async run<R>(query: Query<R>): Promise<readonly R[]> {
    if (this.needsExplicitIsolation) return await this.transaction((tx) => tx.run(query), "ours");
    const client = await this.#connect(query.name);
    try {
      const rows = await this.#send<R>(client, query);
      client.release();
      return rows;
    } catch (error) {
      throw this.#failed(client, error, query.name);
    }
  }

  async transaction<T>(work: (tx: OwnTx) => Promise<T>, whose: "ours" | "theirs" = "theirs"): Promise<T> {
    if (whose === "ours") return await this.#transact(work, whose);
    if (!(await this.#permits.take())) {
      const cause = new Error("Every connection that users may have is in a transaction.");
      throw new DatabaseUnavailableError("begin", false, { cause });
    }
    try {
      return await this.#transact(work, whose);
    } finally {
      this.#permits.give();
    }
  }

  async #transact<T>(work: (tx: OwnTx) => Promise<T>, whose: "ours" | "theirs"): Promise<T> {
    const client = await this.#connect("begin");
    try {
      // Whoever is frozen in the middle must not hold its locks and its snapshot for good.
      await client.query(
        `begin isolation level read committed; set local idle_in_transaction_session_timeout = ${defaults.transactionIdleMs}`,
      );
    } catch (error) {
      throw this.#failed(client, error, "begin");
    }
    let result: T;
    try {
      result = await work({
        query: (text, values) => client.query(text, values).catch((error) => raise(error, whose)),
        run: <R>(query: Query<R>) => this.#sendWithin<R>(client, query).catch((error) => raise(error, whose)),
      });
    } catch (error) {
      await this.#rollBack(client);
      throw error;
    }
    await this.#commit(client);
    return result;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Clients of a pool of ours may still break while they say goodbye, so its listeners stay.
    if (this.#isOwnPool) return await this.#pool.end();
    this.#pool.off("error", this.#onIdleError);
    this.#pool.off("connect", ignoreLateErrors);
  }

  async #connect(statement: string): Promise<pg.PoolClient> {
    if (this.#isClosed) throw new ClosedError("The connection to the database");
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw fromDriver(error, statement, false);
    }
  }

  async #send<R>(client: pg.PoolClient, query: Query<R>): Promise<R[]> {
    const values = query.values as unknown[];
    const limit = query.timeoutMs === undefined ? {} : { query_timeout: query.timeoutMs };
    if (this.#usesNames) {
      try {
        return (await client.query({ name: query.name, text: query.text, values, ...limit })).rows as R[];
      } catch (error) {
        if (!isPreparedStatementTrouble(error)) throw error;
        this.#usesNames = false;
        this.#events.emit("statements:unnamed", {
          reason: error instanceof Error ? error.message : String(error),
        });
      }
    }
    return (await client.query({ text: query.text, values, ...limit })).rows as R[];
  }

  /** In a transaction a name that does not work would be the end of it, so they are used only where they must work. */
  async #sendWithin<R>(client: pg.PoolClient, query: Query<R>): Promise<readonly R[]> {
    const { name, text } = query;
    const values = query.values as unknown[];
    const limit = query.timeoutMs === undefined ? {} : { query_timeout: query.timeoutMs };
    const isNamed = this.#usesNames && this.#isDirect;
    return (await client.query({ ...(isNamed ? { name } : {}), text, values, ...limit })).rows as R[];
  }

  #failed(client: pg.PoolClient, error: unknown, statement: string): Error {
    const ours = fromDriver(error, statement, true);
    client.release(ours.code === "LH_DATABASE_UNAVAILABLE");
    return ours;
  }

  /** A transaction in which a statement failed and was swallowed is rolled back by COMMIT, without an error of its own. */
  async #commit(client: pg.PoolClient): Promise<void> {
    let command: string;
    try {
      ({ command } = await client.query("commit"));
    } catch (error) {
      throw this.#failed(client, error, "commit");
    }
    client.release();
    if (command !== "COMMIT") {
      throw new DatabaseRefusedError(
        "commit",
        "25P02",
        "an earlier statement failed, so the transaction was rolled back",
      );
    }
  }

  async #rollBack(client: pg.PoolClient): Promise<void> {
    try {
      await client.query("rollback");
      client.release();
    } catch {
      client.release(true); // The connection is gone, and with it the transaction.
    }
  }
}

/** So many at a time; the others wait in the order in which they came. */
class Permits {
  readonly #waiting = new Set<() => void>();
  #left: number;

  constructor(count: number) {
    this.#left = count;
  }

  /** False when none came free in time. */
  async take(): Promise<boolean> {
    if (this.#left > 0) {
      this.#left--;
      return true;
    }
    return await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(go);
        resolve(false);
      }, defaults.transactionWaitMs);
      const go = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      this.#waiting.add(go);
    });
  }

  give(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#left++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/** Inside a transaction nothing has been committed, so nothing is ambiguous. */
function raise(error: unknown, whose: "ours" | "theirs"): never {
  const ours = fromDriver(error, "a transaction", false);
  throw whose === "ours" || ours.code === "LH_DATABASE_UNAVAILABLE" ? ours : error;
}

/** A client that breaks while it is checked out reports it to the query under way; the event on top would end the process. */
function ignoreLateErrors(client: pg.PoolClient): void {
  client.on("error", () => {});
}
