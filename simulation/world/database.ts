import type { Database, OwnTx, Query } from "../../src/seams/database.js";
import { defaults } from "../../src/settings.js";
import type { ServerSession } from "../engine/server-session.js";
import type { SimProcess } from "./process.js";
import { denied, refused, unavailable } from "./sql-errors.js";

/**
 * The database of one simulated process. A statement runs alone, when it arrives. A user's transaction runs alone from begin to commit, because what it locks would make
 * others wait, and waiting is tested on many real connections. One of the library's own holds nothing that anybody waits for, so its statements come one by one.
 */
export class SimDatabase implements Database {
  readonly #process: SimProcess;

  constructor(process: SimProcess) {
    this.#process = process;
  }

  async run<R>(query: Query<R>): Promise<readonly R[]> {
    const { engine, schedule } = this.#process.around;
    return await this.#process.call({
      name: query.name,
      timeoutMs: query.timeoutMs ?? defaults.statementTimeoutMs,
      execute: () => {
        if ([...this.#process.refuses].some((names) => names.test(query.name)))
          return Promise.reject(denied(query.name));
        return engine.run(query, schedule.nowMs).catch((error) => Promise.reject(refused(error, query.name)));
      },
    });
  }

  async transaction<T>(work: (tx: OwnTx) => Promise<T>, whose: "ours" | "theirs" = "theirs"): Promise<T> {
    return whose === "theirs" ? await this.#alone(work) : await this.#inSteps(work);
  }

  /** Nothing is kept open between calls. */
  async close(): Promise<void> {}

  async #alone<T>(work: (tx: OwnTx) => Promise<T>): Promise<T> {
    return await this.#process.call({
      name: "transaction",
      timeoutMs: defaults.statementTimeoutMs,
      isOther: true,
      isOurs: true,
      execute: () => this.#runAlone(work),
    });
  }

  async #runAlone<T>(work: (tx: OwnTx) => Promise<T>): Promise<T> {
    const { dice, around } = this.#process;
    const breaks = dice.chance(0.04) ? dice.pick(["in it", "before commit", "after commit"] as const) : "not";
    const session = await around.engine.openTransaction();
    const nowMs = around.schedule.nowMs;
    try {
      await session.query("begin isolation level read committed", [], nowMs);
      const result = await work({
        query: async <R>(text: string, values: unknown[] = []) =>
          typedRows<R>(await session.query(text, values, nowMs)),
        run: (query) => session.run(query, nowMs),
      });
      if (breaks === "in it") throw unavailable("a transaction", false);
      if (breaks === "before commit") throw unavailable("commit", true);
      await session.commit(nowMs);
      if (breaks === "after commit") throw unavailable("commit", true);
      return result;
    } finally {
      await session.release(); // Rolls back what was not committed.
    }
  }

  async #inSteps<T>(work: (tx: OwnTx) => Promise<T>): Promise<T> {
    const { around, transactions } = this.#process;
    const session = await this.#step("begin", async () => {
      const opened = await around.engine.openTransaction();
      await opened.query("begin isolation level read committed", [], around.schedule.nowMs);
      return opened;
    });
    transactions.add(session);
    const within = <R>(name: string, ask: () => Promise<R>): Promise<R> =>
      this.#step(name, () => (session.isOver ? Promise.reject(unavailable(name, false)) : ask()));
    try {
      const result = await work({
        query: async <R>(text: string, values: unknown[] = []) =>
          typedRows<R>(await within("query", () => session.query(text, values, around.schedule.nowMs))),
        run: (query) => within(query.name, () => session.run(query, around.schedule.nowMs)),
      });
      await within("commit", () => session.commit(around.schedule.nowMs));
      return result;
    } finally {
      transactions.delete(session);
      around.schedule.after(this.#process.link.latencyMs(), () => session.release());
    }
  }

  async #step<R>(name: string, execute: () => Promise<R>): Promise<R> {
    const onOrphan = async (answer: R): Promise<void> => {
      if (name === "begin") await (answer as unknown as ServerSession).release();
    };
    return await this.#process.call({
      name,
      timeoutMs: defaults.statementTimeoutMs,
      isOther: true,
      execute: () => execute().catch((error) => Promise.reject(refused(error, name))),
      onOrphan,
    });
  }
}

function typedRows<R>({ rows }: { readonly rows: readonly unknown[] }): {
  readonly rows: readonly R[];
  readonly rowCount: number;
} {
  return { rows: rows as readonly R[], rowCount: rows.length };
}
