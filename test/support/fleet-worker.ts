import pg from "pg";
import { connect, retryAfter, type Worker } from "../../src/index.js";
import { heldClock } from "./held-clock.js";

/**
 * A worker in a process of its own, for tests that kill, freeze and restart it. Tells its parent what it does over IPC, with the time of this
 * machine, which all processes of a test share. Ends by itself when its parent is gone.
 */
export interface FleetJob {
  /** The place of this job among those of its key, from 0. */
  readonly n: number;
  readonly workMs?: number;
  /** Fails so many times before it succeeds. */
  readonly failures?: number;
  /** Writes (key, n) into the table `effects` through job.transaction. */
  readonly effect?: boolean;
  readonly exit?: boolean;
}

export interface FleetSettings {
  readonly url: string;
  readonly directUrl?: string;
  readonly schema: string;
  readonly workerId: string;
  readonly heartbeatMs?: number;
  readonly ttlMs?: number;
  readonly concurrency?: number;
  readonly leaseMs?: number;
  readonly drainLimitMs?: number;
  /** Believes that nobody else is alive, whatever the registry says: a ring of its own. */
  readonly seesOnlyItself?: boolean;
  /** Idle polls and refreshes do not come by themselves (held-clock.ts) until the parent says otherwise; it is told whenever the worker is asleep. */
  readonly isUnpolled?: boolean;
  /** Tell the parent of starts and ends; off where the load is high and only counts matter. */
  readonly tells?: boolean;
}

/** What the parent may say. */
export type FleetOrder = "hold polls" | "release polls";

export type FleetMessage =
  | { readonly is: "ready" }
  | {
      readonly is: "event";
      readonly name: string;
      readonly event: Record<string, unknown>;
      readonly at: number;
    }
  | {
      readonly is: "start" | "end";
      readonly key: string;
      readonly n: number;
      readonly attempt: number;
      readonly token: string;
      readonly at: number;
    };

const settings = JSON.parse(process.argv[2] ?? "{}") as FleetSettings;
process.on("disconnect", () => process.exit(0));

const now = (): number => performance.timeOrigin + performance.now();
const tell = (message: FleetMessage): void => void (process.connected && process.send?.(message));

const clock = heldClock({
  onAsleep: (isAsleep) => tell({ is: "event", name: isAsleep ? "asleep" : "awake", event: {}, at: now() }),
});
if (settings.isUnpolled !== true) clock.release();
process.on("message", (order: FleetOrder) => (order === "hold polls" ? clock.hold() : clock.release()));

/** A pool that leaves everybody else out of the list of members. */
function lonelyPool(): pg.Pool {
  const pool = new pg.Pool({ connectionString: settings.url, max: 10 });
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (
      ...given: unknown[]
    ) => Promise<pg.QueryResult<{ id: string }>>;
    const filtered = async (...given: unknown[]): Promise<unknown> => {
      const result = await query(...given);
      const name = (given[0] as { name?: string }).name ?? "";
      if (name.startsWith("lh_list_members"))
        result.rows = result.rows.filter((row) => row.id === settings.workerId);
      return result;
    };
    Object.assign(client, { query: filtered });
  });
  return pool;
}

const { url, directUrl, schema, workerId, heartbeatMs, ttlMs } = settings;
const lh = await connect({
  ...(settings.seesOnlyItself === true ? { pool: lonelyPool() } : { url }),
  schema,
  workerId,
  clock,
  logger: false,
  ...(directUrl === undefined ? {} : { directUrl }),
  ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
  ...(ttlMs === undefined ? {} : { ttlMs }),
});
const watched = [
  "ring:changed",
  "lease:lost",
  "worker:registered",
  "worker:superseded",
  "workers:lost",
  "session:lost",
  "session:opened",
  "wake:unavailable",
  "trust:lost",
  "trust:regained",
  "jobs:released",
  "job:stuck",
  "settle:failed",
] as const;
for (const name of watched) {
  lh.on(name, (event) => {
    const plain = JSON.parse(
      JSON.stringify(event, (_, value) => (typeof value === "bigint" ? String(value) : value)),
    ) as Record<string, unknown>;
    tell({ is: "event", name, event: plain, at: now() });
  });
}

const worker: Worker = lh.worker<{ work: FleetJob }>(
  "inbox",
  {
    work: async (job) => {
      const { payload, partitionKey: key, attempt, fenceToken } = job;
      const about = { key, n: payload.n, attempt, token: String(fenceToken) };
      if (settings.tells !== false) tell({ is: "start", ...about, at: now() });
      if (payload.exit === true) process.exit(7);
      if (payload.workMs !== undefined) await new Promise((resolve) => setTimeout(resolve, payload.workMs));
      if (attempt <= (payload.failures ?? 0)) throw retryAfter(50);
      let at = now();
      if (payload.effect === true) {
        await job.transaction(async (tx) => {
          await tx.query(`insert into ${schema}.effects (key, n, token) values ($1, $2, $3)`, [
            key,
            payload.n,
            String(fenceToken),
          ]);
          at = now(); // The job is done at the commit that follows; somebody else may start the next one right after it.
        });
      }
      if (settings.tells !== false) tell({ is: "end", ...about, at });
    },
  },
  {
    ...(settings.concurrency === undefined ? {} : { concurrency: settings.concurrency }),
    ...(settings.leaseMs === undefined ? {} : { leaseMs: settings.leaseMs }),
    ...(settings.drainLimitMs === undefined ? {} : { drainLimitMs: settings.drainLimitMs }),
  },
);
await worker.start();
tell({ is: "ready" });
