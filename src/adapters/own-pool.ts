import pg from "pg";
import { dropConnection } from "./drop-connection.js";

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

  /** Resolves when every connection is closed. One that is not within the limit is dropped, and one that is being made at once. */
  async close(limitMs: number): Promise<void> {
    for (const client of this.#connecting) dropConnection(client);
    await this.end();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#onEnd = () => {
        if (this.#open.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      this.#onEnd();
    });
    this.drop();
  }

  /** Ends every connection at once, also under a query. */
  drop(): void {
    for (const client of this.#open) dropConnection(client);
  }
}
