import type pg from "pg";
import { isConnectionLost, isReadOnly } from "./driver-errors.js";

/** A statement with a time limit, which is counted in the client: it holds also when the server is frozen or the network swallows the answer. */
export interface LimitedQuery {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
  readonly query_timeout: number;
}

/** A connection of the pool, from checkout to release. One that broke, or that leads to a read-only server, is thrown away. */
export class Checkout {
  readonly #client: pg.PoolClient;
  #isLost = false;
  #isReadOnly = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
    // What breaks under a query is reported there; the event on top would end the process, also after close().
    client.on("error", ignore);
  }

  /** The process id that the server told when the connection was made. */
  get announcedPid(): number | null {
    return (this.#client as unknown as { processID: number | null }).processID;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  async ask<R extends pg.QueryResultRow>(query: LimitedQuery): Promise<pg.QueryResult<R>> {
    try {
      return await this.#client.query<R>(query);
    } catch (error) {
      throw this.#noted(error, query.query_timeout);
    }
  }

  /** A statement as its text, or as an object of the driver's. Without a limit that of the pool counts, if it has one. */
  async askText(
    text: string | pg.QueryConfig,
    values: unknown[] | undefined,
    limitMs: number | null,
  ): Promise<pg.QueryResult> {
    const isText = typeof text === "string";
    const isOwnKind = !isText && "submit" in text; // A cursor or stream, which has no limit.
    try {
      if (limitMs === null || isOwnKind) return await this.#client.query(text, values);
      const limited = { ...(isText ? { text } : text), query_timeout: limitMs };
      return await this.#client.query(limited, values);
    } catch (error) {
      throw this.#noted(error, limitMs);
    }
  }

  release(): void {
    this.#client.release(this.#isLost || this.#isReadOnly);
    this.#client.off("error", ignore);
  }

  #noted(error: unknown, limitMs: number | null): unknown {
    this.#isLost ||= isConnectionLost(error);
    this.#isReadOnly ||= isReadOnly(error);
    if (!(error instanceof Error) || error.message !== "Query read timeout") return error;
    const limit = limitMs === null ? "the query_timeout of the pool" : `${limitMs} ms`;
    return new Error(`it took longer than ${limit}`, { cause: error });
  }
}

function ignore(): void {}
