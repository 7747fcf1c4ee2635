import pg from "pg";
import { inject, onTestFinished } from "vitest";
import { Dice } from "../../simulation/dice.js";
import {
  type ConnectOptions,
  connect,
  type Leasehold,
  type Queue,
  type QueueOptions,
} from "../../src/index.js";
import type { Clock } from "../../src/seams/clock.js";
import type { HeldClock } from "./held-clock.js";

/** A schema of its own for one test, on the real server, dropped afterwards. */
export interface World {
  readonly lh: Leasehold;
  readonly url: string;
  readonly schema: string;
  /** Plain SQL; `leasehold.` stands for the schema of this world. */
  sql<R extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<R[]>;
  /** A second connection to the same schema, closed with the world. */
  connect(options?: ConnectOptions): Promise<Leasehold>;
  queue(name?: string, options?: QueueOptions): Promise<Queue>;
  /** A client of its own, for transactions that a test holds open. */
  client(): Promise<pg.Client>;
}

let count = 0;

/** On the server of the test run, or on another one. */
export async function setup(options: ConnectOptions = {}, server?: string): Promise<World> {
  const url = server ?? inject("databaseUrl");
  const schema = options.schema ?? `t${process.pid}_${++count}_${Math.random().toString(36).slice(2, 8)}`;
  const admin = new pg.Pool({ connectionString: url, max: 2 });
  admin.on("error", () => {});
  const connections: Leasehold[] = [];
  const clients: pg.Client[] = [];
  const clocks = new Set<Clock>();
  const open = async (more: ConnectOptions = {}): Promise<Leasehold> => {
    const given = { ...options, ...more };
    // A pool says where the server is; sessions go straight to it.
    const direct = "url" in given ? {} : { directUrl: url };
    const way = given.pool === undefined ? { url } : direct;
    const all = { ...way, schema, logger: false as const, ...given };
    if (all.clock !== undefined) clocks.add(all.clock);
    const lh = await connect(all);
    connections.push(lh);
    return lh;
  };
  onTestFinished(async () => {
    // A test that failed may have left a worker in a wait that is held.
    for (const clock of clocks) (clock as Partial<HeldClock>).release?.();
    await Promise.all(connections.map((connection) => connection.close()));
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
    await admin.query(`drop schema if exists ${schema} cascade`);
    await admin.end();
  });
  const lh = await open();
  await lh.migrate();
  return {
    lh,
    url,
    schema,
    sql: async <R extends object>(text: string, values?: unknown[]) =>
      (await admin.query<R & pg.QueryResultRow>(text.replaceAll("leasehold.", `${schema}.`), values)).rows,
    connect: open,
    queue: (name = "inbox", queueOptions = { order: "key" }) => lh.queue(name, queueOptions),
    client: async () => {
      const client = new pg.Client({ connectionString: url });
      client.on("error", () => {});
      await client.connect();
      clients.push(client);
      return client;
    },
  };
}

/** A clock whose database time a test sets. */
export function settableClock(start: Date = new Date()): Clock & { advance(ms: number): void } {
  let now = start.getTime();
  return {
    monotonicMs: () => performance.now(),
    epochMs: () => Date.now(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    databaseNow: () => new Date(now),
    advance: (ms) => {
      now += ms;
    },
  };
}

/** Numbers that repeat for a seed, so that a failing random test can be run again. */
export function seeded(seed: number): () => number {
  const dice = new Dice(seed);
  return () => dice.fraction();
}
