import pg from "pg";
import { dropConnection } from "./drop-connection.js";
import { asksForText } from "./row-parsers.js";

export interface PoolOptions {
  readonly url: string;
  readonly connectionsMax: number;
  readonly connectTimeoutMs: number;
  readonly keepAliveMs: number;
}

/** A pool that we made and therefore end. Knows its connections from the first packet to the last. */
export class OwnPool extends pg.Pool {
  readonly #open: Set<pg.Client>;
  readonly #connecting: Set<pg.Client>;
  #onEnd: () => void = () => {};

  constructor(options: PoolOptions) {
    const open = new Set<pg.Client>();
    const connecting = new Set<pg.Client>();
    const onEnd = (client: pg.Client): void => {
      open.delete(client);
      connecting.delete(client);
      this.#onEnd();
    };
    super({
      connectionString: options.url,
      max: options.connectionsMax,
      connectionTimeoutMillis: options.connectTimeoutMs,
      // A user's statement may take as long as he likes, so only probes can tell that its server is gone.
      keepAlive: true,
      keepAliveInitialDelayMillis: options.keepAliveMs,
      application_name: "leasehold",
      Client: class extends pg.Client {
        constructor(config?: pg.ClientConfig) {
          super(config);
          asksForText(this);
          open.add(this);
          connecting.add(this);
          this.once("connect", () => connecting.delete(this));
          this.once("end", () => onEnd(this));
        }
      },
    });
    this.#open = open;
    this.#connecting = connecting;
  }

  /**
   * Resolves when every connection is closed. One that is in use has `busyMs` to be given back, and then `waitMs` to end; what has not ended by then is dropped. One that is being made is dropped at once.
   */
  async close(busyMs: number, waitMs: number): Promise<void> {
    for (const client of this.#connecting) dropConnection(client);
    if (!(await within(busyMs, this.end()))) this.drop();
    const gone = new Promise<void>((resolve) => {
      this.#onEnd = () => {
        if (this.#open.size === 0) resolve();
      };
    });
    this.#onEnd();
    await within(waitMs, gone);
    this.drop();
  }

  /** Ends every connection at once, also under a query. */
  drop(): void {
    for (const client of this.#open) dropConnection(client);
  }
}

/** False when it was not over in time. */
function within(limitMs: number, work: Promise<void>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), limitMs);
    work.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}
