import type pg from "pg";
import { isConnectionLost, isUnfit } from "./driver-errors.js";
import { endingCommand } from "./ended-transaction.js";
import { isLastingChange } from "./lasting-change.js";
import { rowParsers } from "./row-parsers.js";

/** A statement with a time limit, which is counted in the client: it holds also when the server is frozen or the network swallows the answer. */
export interface LimitedQuery {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
  readonly query_timeout: number;
}

/**
 * A connection of the pool, from checkout to release. One that broke, that leads to a read-only server, or whose settings a user's transaction has changed for good, is thrown away.
 */
export class Checkout {
  readonly #client: pg.PoolClient;
  #isLost = false;
  #isUnfit = false;
  #endedBy: string | null = null;

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

  /** The command by which a user's statement has ended the transaction on it. One that failed after a COMMIT in the same text has no answers; then only the state tells. */
  get endedBy(): string | null {
    return this.#endedBy ?? (this.#isIdle ? "COMMIT or ROLLBACK" : null);
  }

  async ask<R extends pg.QueryResultRow>(query: LimitedQuery): Promise<pg.QueryResult<R>> {
    try {
      return await this.#client.query<R>({ ...query, types: rowParsers });
    } catch (error) {
      throw this.#noted(error, query.query_timeout);
    }
  }

  /** A user's statement as its text, or as an object of the driver's. Without a limit that of the pool counts, if it has one. */
  async askText(
    text: string | pg.QueryConfig,
    values: unknown[] | undefined,
    limitMs: number | null,
  ): Promise<pg.QueryResult> {
    const isText = typeof text === "string";
    const isOwnKind = !isText && "submit" in text; // A cursor or stream, which has no limit.
    try {
      const isLimited = limitMs !== null && !isOwnKind;
      const limited = isLimited ? { ...(isText ? { text } : text), query_timeout: limitMs } : text;
      const answer = await this.#client.query(limited, values);
      const sent = isText ? text : text.text;
      this.#endedBy ??= endingCommand(answer, sent, this.#isIdle);
      if (!isOwnKind) this.#isUnfit ||= isLastingChange(sent, answer);
      return answer;
    } catch (error) {
      throw this.#noted(error, limitMs);
    }
  }

  /** True when the driver says that the connection is in no transaction; older versions of it do not say. */
  get #isIdle(): boolean {
    const { getTransactionStatus } = this.#client as { getTransactionStatus?: () => string | null };
    return getTransactionStatus?.call(this.#client) === "I";
  }

  release(): void {
    this.#client.release(this.#isLost || this.#isUnfit);
    this.#client.off("error", ignore);
  }

  #noted(error: unknown, limitMs: number | null): unknown {
    this.#isLost ||= isConnectionLost(error);
    this.#isUnfit ||= isUnfit(error);
    if (!(error instanceof Error) || error.message !== "Query read timeout") return error;
    const limit = limitMs === null ? "the query_timeout of the pool" : `${limitMs} ms`;
    return new Error(`it took longer than ${limit}`, { cause: error });
  }
}

function ignore(): void {}
