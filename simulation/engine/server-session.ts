import type pg from "pg";
import type { Query } from "../../src/seams/database.js";
import type { ServerClock } from "./virtual-time.js";

/** A connection on the server's side: what it locks stays locked, and what it began stays open, until it is released. */
export class ServerSession {
  readonly pid: number;
  readonly #client: pg.Client;
  readonly #clock: ServerClock;
  readonly #giveBack: (isUsable: boolean) => Promise<void>;
  readonly #onEnd = (): void => {
    this.#isEnded = true;
  };
  #isEnded = false;
  /** A transaction that was committed has left nothing. */
  #mayHold = true;
  #isReleased = false;

  constructor(client: pg.Client, clock: ServerClock, giveBack: (isUsable: boolean) => Promise<void>) {
    this.#client = client;
    this.#clock = clock;
    this.#giveBack = giveBack;
    this.pid = (client as unknown as { readonly processID: number }).processID;
    client.once("end", this.#onEnd);
  }

  /** True when the server has let go of it: released by us, or ended by a statement of somebody else. */
  get isOver(): boolean {
    return this.#isEnded || this.#isReleased;
  }

  async run<R>(query: Query<R>, nowMs: number): Promise<readonly R[]> {
    const { name, text } = query;
    return (await this.#client.query({ name, text, values: this.#clock.valuesAt(query.values, nowMs) }))
      .rows as R[];
  }

  async commit(nowMs: number): Promise<void> {
    await this.query("commit", [], nowMs);
    this.#mayHold = false;
  }

  async query(
    text: string,
    values: readonly unknown[],
    nowMs: number,
  ): Promise<{ readonly rows: readonly unknown[] }> {
    return await this.#client.query(text, this.#clock.valuesAt(values, nowMs));
  }

  /** Ends whatever is open, gives back every lock, and lets somebody else have the connection. */
  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    try {
      if (!this.#isEnded && this.#mayHold)
        await this.#client.query("rollback; select pg_advisory_unlock_all()");
    } catch {
      this.#isEnded = true; // The server had ended it.
    }
    this.#client.off("end", this.#onEnd);
    await this.#giveBack(!this.#isEnded);
  }

  /** Waits until the server has ended it, after a statement that told it to. */
  async untilEnded(): Promise<void> {
    if (this.#isEnded) return;
    await new Promise<void>((resolve) => this.#client.once("end", () => resolve()));
  }
}
