import pg from "pg";
import { type PostgresServer, startPostgres } from "../../src/embedded.js";
import { delay } from "../wait.js";
import type { Store } from "./store.js";

/** Durable, and large enough for checkpoints and evicted pages to stay out of the way of everybody alike. */
export const serverSettings: Readonly<Record<string, string>> = Object.freeze({
  shared_buffers: "2GB",
  max_wal_size: "8GB",
  checkpoint_timeout: "30min",
  autovacuum: "on",
});
const dropTriesMax = 5;

/** One server for all; each measurement gets a database of its own. */
export class PostgresStores {
  readonly server: PostgresServer;
  #count = 0;

  constructor(server: PostgresServer) {
    this.server = server;
  }

  static async start(): Promise<PostgresStores> {
    return new PostgresStores(await startPostgres({ durable: true, settings: serverSettings }));
  }

  async open(): Promise<Store> {
    this.#count++;
    const name = `bench_${this.#count}`;
    await onClient(this.server.url, (client) => client.query(`create database ${name}`));
    const url = new URL(this.server.url);
    url.pathname = `/${name}`;
    return {
      url: url.href,
      settle: () => settle(url.href),
      drop: () => this.#drop(name),
    };
  }

  /** What the server says about itself, the defaults that matter included. */
  async settings(): Promise<Readonly<Record<string, string>>> {
    const names = [...Object.keys(serverSettings), "fsync", "synchronous_commit", "full_page_writes"];
    return await onClient(this.server.url, async (client) => {
      const { rows } = await client.query<{ name: string; value: string }>(
        "select name, current_setting(name) as value from unnest($1::text[]) as name",
        [names],
      );
      return Object.fromEntries(rows.map((row) => [row.name, row.value]));
    });
  }

  /** A client that was killed a moment ago may still have its session. */
  async #drop(name: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await onClient(this.server.url, (client) => client.query(`drop database ${name} with (force)`));
        return;
      } catch (error) {
        if (tries === dropTriesMax) throw error;
        await delay(200);
      }
    }
  }
}

async function settle(url: string): Promise<void> {
  await onClient(url, async (client) => {
    await client.query("vacuum (analyze)");
    await client.query("checkpoint");
  });
}

export async function onClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
