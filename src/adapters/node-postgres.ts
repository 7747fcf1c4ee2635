import type pg from "pg";
import { ClosedError, DatabaseRefusedError, DatabaseUnavailableError, InvalidTxError } from "../errors.js";
import type { Events } from "../events.js";
import type { Database, OwnTx, Query } from "../seams/database.js";
import { defaults } from "../settings.js";
import { Checkout, type LimitedQuery } from "./checkout.js";
import {
  fromConnecting,
  fromDriver,
  fromTransaction,
  isConnectionLost,
  isPreparedStatementTrouble,
} from "./driver-errors.js";
import { OwnPool } from "./own-pool.js";
import { Permits } from "./permits.js";
import { isPoolEnded, placeOf } from "./pool-options.js";
import { surviveLosses } from "./survive-losses.js";

export interface DriverSettings {
  readonly connectTimeoutMs: number;
  /** For each statement of ours. */
  readonly statementTimeoutMs: number;
  /** For each statement of a user's transaction; null for none. The server ends the statement. */
  readonly transactionStatementTimeoutMs: number | null;
  /** How much longer the server's answer to that may take. */
  readonly transactionAnswerGraceMs: number;
  /** How long a connection in use may take to be given back when we close, and then to end. */
  readonly closeBusyMs: number;
  readonly closeWaitMs: number;
  /** Transactions are read-only, and the server ends a statement shortly before statementTimeoutMs, so that it answers and the connection is kept. */
  readonly isReadOnly?: boolean;
}

/**
 * The Database over a pg pool, ours or a user's. Failures arrive as errors of src/errors.ts. Named statements are used until the first sign
 * that they do not work here. Each statement of ours brings its own time limit, whatever the pool has.
 */
export class NodePostgres implements Database {
  readonly #pool: pg.Pool;
  readonly #settings: DriverSettings;
  readonly #events: Events;
  readonly #stopListening: () => void;
  /** Users' transactions never take the last connections, on which leases are renewed and outcomes written. */
  readonly #permits: Permits;
  #usesNames = true;
  #isClosed = false;
  #isDirect = false;
  /** True where the server's default isolation level is not read committed: then every call opens its own transaction. */
  needsExplicitIsolation = false;

  /** A pool that the caller has checked. */
  constructor(given: object, settings: DriverSettings, events: Events) {
    const pool = given as pg.Pool;
    this.#pool = pool;
    this.#settings = settings;
    this.#events = events;
    const permits = Math.max(1, (pool.options?.max ?? 1) - defaults.connectionsReserved);
    this.#permits = new Permits(permits, defaults.transactionWaitMs);
    this.#stopListening = surviveLosses(pool, ({ message }) =>
      events.emit("connection:lost", { reason: message }),
    );
  }

  poolCounts(): { readonly total: number; readonly idle: number; readonly waiting: number } {
    const { totalCount = 0, idleCount = 0, waitingCount = 0 } = this.#pool;
    return { total: totalCount, idle: idleCount, waiting: waitingCount };
  }

  /** Finds out whether a pooler stands in between: then another process answers than the one that was announced. */
  async lookForPooler(): Promise<void> {
    const text = "select pg_backend_pid() as pid";
    this.#isDirect = await this.#holding("look_for_pooler", async (held) => {
      const { rows } = await held.ask<{ pid: number }>(this.#limited(text));
      return rows[0]?.pid === held.announcedPid;
    });
  }

  async run<R>(query: Query<R>): Promise<readonly R[]> {
    if (this.needsExplicitIsolation) return await this.transaction((tx) => tx.run(query), "ours");
    return await this.#holding(query.name, (held) => this.#send<R>(held, query));
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
    const held = await this.#checkOut("begin");
    try {
      await this.#begin(held, whose);
      let result: T;
      try {
        result = await work(this.#txOn(held, whose));
        checkNotEnded(held);
      } catch (error) {
        await this.#rollBack(held);
        throw error;
      }
      await this.#commit(held);
      return result;
    } finally {
      held.release();
    }
  }

  /** What the server or the driver has against a user's statement is its own error, as the user's code expects it. */
  #txOn(held: Checkout, whose: "ours" | "theirs"): OwnTx {
    const raise = (error: unknown, statement: string): never => {
      throw whose === "ours" || isConnectionLost(error) ? fromTransaction(error, statement) : error;
    };
    const ask =
      whose === "ours"
        ? (text: string, values: unknown[] = []) => held.ask({ ...this.#limited(text), values })
        : (text: string, values?: unknown[]) => held.askText(text, values, this.#usersLimitMs);
    return {
      query: async (text, values) => {
        checkNotEnded(held);
        const answer = await ask(text, values).catch((error) =>
          raise(error, "a statement of the transaction"),
        );
        checkNotEnded(held);
        return answer;
      },
      run: async <R>(query: Query<R>) => {
        checkNotEnded(held);
        return await this.#sendWithin<R>(held, query).catch((error) => raise(error, query.name));
      },
    };
  }

  /** How long the client waits for a statement of a user. */
  get #usersLimitMs(): number | null {
    const { transactionStatementTimeoutMs, transactionAnswerGraceMs } = this.#settings;
    return transactionStatementTimeoutMs === null
      ? null
      : transactionStatementTimeoutMs + transactionAnswerGraceMs;
  }

  /** A user's pool is left open. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { closeBusyMs, closeWaitMs } = this.#settings;
    if (this.#pool instanceof OwnPool) await this.#pool.close(closeBusyMs, closeWaitMs);
    else this.#stopListening();
  }

  /** Closes without waiting for what is under way. */
  async abort(): Promise<void> {
    if (this.#pool instanceof OwnPool) this.#pool.drop();
    await this.close();
  }

  async #holding<T>(statement: string, work: (held: Checkout) => Promise<T>): Promise<T> {
    const held = await this.#checkOut(statement);
    try {
      return await work(held);
    } catch (error) {
      throw fromDriver(error, statement, true);
    } finally {
      held.release();
    }
  }

  async #checkOut(statement: string): Promise<Checkout> {
    if (this.#isClosed) throw new ClosedError("The connection to the database");
    try {
      return await this.#connect();
    } catch (error) {
      if (isPoolEnded(error)) {
        const what = "The pool given to connect() was ended before lh.close(), so it";
        throw new ClosedError(what, { cause: error });
      }
      throw fromConnecting(error, statement, () => placeOf(this.#pool.options));
    }
  }

  /** By callback, so that no event can come between the pool's listener and ours. A user's pool may have no limit; what comes too late goes back. */
  #connect(): Promise<Checkout> {
    const { connectTimeoutMs } = this.#settings;
    return new Promise((resolve, reject) => {
      let isLate = false;
      const giveUp = (): void => {
        isLate = true;
        reject(new Error(`the pool gave no connection within ${connectTimeoutMs} ms`));
      };
      const timer = this.#pool instanceof OwnPool ? undefined : setTimeout(giveUp, connectTimeoutMs);
      this.#pool.connect((error, client) => {
        clearTimeout(timer);
        if (isLate) client?.release();
        else if (client === undefined) reject(error);
        else resolve(new Checkout(client));
      });
    });
  }

  #limited(text: string, timeoutMs: number = this.#settings.statementTimeoutMs): LimitedQuery {
    return { text, query_timeout: timeoutMs };
  }

  async #send<R>(held: Checkout, query: Query<R>): Promise<R[]> {
    const values = query.values as unknown[];
    const limited = { ...this.#limited(query.text, query.timeoutMs), values };
    if (this.#usesNames) {
      try {
        return (await held.ask({ name: query.name, ...limited })).rows as R[];
      } catch (error) {
        if (!isPreparedStatementTrouble(error)) throw error;
        this.#usesNames = false;
        this.#events.emit("statements:unnamed", {
          reason: error instanceof Error ? error.message : String(error),
        });
      }
    }
    return (await held.ask(limited)).rows as R[];
  }

  /** In a transaction a name that does not work would be the end of it, so they are used only where they must work. */
  async #sendWithin<R>(held: Checkout, query: Query<R>): Promise<readonly R[]> {
    const { name, text, timeoutMs } = query;
    const limited = { ...this.#limited(text, timeoutMs), values: query.values as unknown[] };
    const isNamed = this.#usesNames && this.#isDirect;
    return (await held.ask({ ...(isNamed ? { name } : {}), ...limited })).rows as R[];
  }

  /** A process that is frozen in the middle must not keep its locks and its snapshot for good. */
  async #begin(held: Checkout, whose: "ours" | "theirs"): Promise<void> {
    const { transactionStatementTimeoutMs, isReadOnly = false, statementTimeoutMs } = this.#settings;
    const limitMs = isReadOnly
      ? Math.max(1, statementTimeoutMs - defaults.replicaAnswerGraceMs)
      : transactionStatementTimeoutMs;
    const parts = [
      `begin isolation level read committed${isReadOnly ? " read only" : ""}`,
      `set local idle_in_transaction_session_timeout = ${defaults.transactionIdleMs}`,
    ];
    if ((isReadOnly || whose === "theirs") && limitMs !== null)
      parts.push(`set local statement_timeout = ${limitMs}`);
    try {
      await held.ask(this.#limited(parts.join("; ")));
    } catch (error) {
      throw fromDriver(error, "begin", false);
    }
  }

  /** A transaction in which a statement failed and was swallowed is rolled back by COMMIT, without an error of its own. */
  async #commit(held: Checkout): Promise<void> {
    const { command } = await held.ask(this.#limited("commit")).catch((error) => {
      throw fromDriver(error, "commit", true);
    });
    if (command !== "COMMIT") {
      throw new DatabaseRefusedError(
        "commit",
        "25P02",
        "an earlier statement failed, so the transaction was rolled back",
      );
    }
  }

  /** With a lost connection the transaction is gone too. */
  async #rollBack(held: Checkout): Promise<void> {
    if (held.isLost) return;
    await held.ask(this.#limited("rollback")).catch(() => {}); // It is lost now.
  }
}

/** What runs after that is not in the transaction any more, and its commit would say nothing of it. */
function checkNotEnded(held: Checkout): void {
  if (held.endedBy === null) return;
  throw new InvalidTxError(
    `a statement of yours has ended the transaction (${held.endedBy}), which the library does; throw an error to roll back`,
  );
}
