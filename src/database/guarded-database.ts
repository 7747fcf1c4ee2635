import {
  DatabaseRefusedError,
  DatabaseUnavailableError,
  InvalidTxError,
  ReadOnlyServerError,
} from "../errors.js";
import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import type { Database, OwnTx, Query } from "../seams/database.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import { explainAbsence } from "./explain-absence.js";
import { Outage } from "./outage.js";

/**
 * Wraps any Database, also a simulated one, and decides in one place what is tried again: a lost connection, one to a read-only
 * server, a serialisation failure, a deadlock. Every statement of ours may be repeated after an ambiguous commit, so the default is to send the same
 * query again; a caller that must say it is a repetition gives the query to send then, and one that can't be repeated says so.
 */
export class GuardedDatabase {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #events: Events;
  readonly #outage: Outage;
  #statements = 0;
  #failures = 0;
  #lastFailure: unknown = null;
  /** True when connect() has met a standby: an address of no primary, where a failover need not be waited for. Until a connection is lost: the next may lead elsewhere, or connect() came during a failover. */
  startedOnStandby = false;

  constructor(seams: { database: Database; clock: Clock; random: Random; events: Events }) {
    this.#database = seams.database;
    this.#clock = seams.clock;
    this.#random = seams.random;
    this.#events = seams.events;
    this.#outage = new Outage(seams);
    seams.events.on("connection:lost", () => {
      this.startedOnStandby = false;
    });
  }

  /** Statements that were sent, and those that failed, without what ran in transactions. */
  get counts(): { readonly statements: number; readonly failures: number } {
    return { statements: this.#statements, failures: this.#failures };
  }

  /** Why the last try of run() failed that did; null when none has. */
  get lastFailure(): unknown {
    return this.#lastFailure;
  }

  /**
   * `again` makes what to send when a try may have committed; null sends nothing and raises the error. `onAmbiguous` hears that it came
   * to that.
   */
  async run<R>(
    query: Query<R>,
    again: (() => Query<R>) | null = () => query,
    onAmbiguous?: () => void,
  ): Promise<readonly R[]> {
    let next = query;
    let mayHaveCommitted = false;
    for (let tries = 1; ; tries++) {
      this.#statements++;
      try {
        const rows = await this.#database.run(next);
        this.#outage.note(null);
        return rows;
      } catch (error) {
        this.#failures++;
        this.#outage.note(error);
        this.#lastFailure = error;
        if (error instanceof DatabaseUnavailableError) this.startedOnStandby = false;
        if (isAmbiguous(error)) {
          mayHaveCommitted = true;
          onAmbiguous?.();
          if (again === null || query.repeatsUnanswered === false) throw error;
          next = again();
        }
        const meant = await explainAbsence(this.#database, query, error);
        await this.#waitOrThrow(mayHaveCommitted ? ambiguous(query.name, meant) : meant, query, tries);
      }
    }
  }

  /** Runs work in one transaction, once: a transaction with a user's code in it is the user's to repeat. */
  async transaction<T>(work: (tx: OwnTx) => Promise<T>, whose?: "ours" | "theirs"): Promise<T> {
    const result = await this.#database.transaction((tx) => this.#whileOpen(tx, work), whose);
    this.#outage.note(null);
    return result;
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  /** Refuses what comes after the end: it would run on a connection that may be in somebody else's transaction by then. */
  async #whileOpen<T>(tx: OwnTx, work: (tx: OwnTx) => Promise<T>): Promise<T> {
    let isOpen = true;
    const check = (): void => {
      if (!isOpen) throw new InvalidTxError("its transaction has ended (is an await missing in it?)");
    };
    try {
      return await work({
        query: async (text, values) => {
          check();
          return await tx.query(text, values);
        },
        run: async (query) => {
          check();
          try {
            return await tx.run(query);
          } catch (error) {
            throw await explainAbsence(this.#database, query, error);
          }
        },
      });
    } finally {
      isOpen = false;
    }
  }

  async #waitOrThrow(error: unknown, query: Query<unknown>, tries: number): Promise<void> {
    if (this.startedOnStandby && isReadOnly(error)) throw error;
    const mayPass = isCurable(error) || (query.repeatsWhenLocked === true && isLockTimeout(error));
    if (!mayPass || tries >= (query.triesMax ?? defaults.databaseTriesMax)) throw error;
    this.#events.emit("database:retried", { statement: query.name, tries, reason: String(error) });
    const ceiling = Math.min(defaults.databaseBackoffMs * 2 ** tries, defaults.databaseBackoffMsMax);
    await this.#clock.sleep(ceiling * (0.5 + this.#random.fraction() / 2));
  }
}

/** Once a try may have committed, a later one that could not even connect does not change that. */
function ambiguous(statement: string, error: unknown): unknown {
  if (!(error instanceof DatabaseUnavailableError) || error.isAmbiguous) return error;
  return new DatabaseUnavailableError(statement, true, { cause: error });
}

function isAmbiguous(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError && error.isAmbiguous;
}

/** Somebody held a lock for longer than the statement waits. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseRefusedError && error.sqlState === "55P03";
}

/** The server was demoted or is a standby. The driver throws the connection away; the next one may lead to the primary. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof ReadOnlyServerError;
}

function isCurable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailableError || isReadOnly(error)) return true;
  if (!(error instanceof DatabaseRefusedError)) return false;
  // Somebody has changed the isolation level of this connection, and the driver throws it away.
  if (error.sqlState === "25001") return true;
  // A settle that was routed to the rest while the day of its row was being attached; the second time it finds the day.
  const isLateForTheDay = error.sqlState === "23514" && error.message.includes("_archive_rest");
  return isLateForTheDay || error.sqlState === "40001" || error.sqlState === "40P01";
}
