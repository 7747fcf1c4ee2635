import { connect, StaleFenceError } from "../../src/index.js";
import { createTenantSupervisor } from "../../src/tenants.js";

/**
 * A supervisor in a process of its own, for tests that add, drain, kill and freeze it. Tells its parent what runs, with the time of this machine, which all processes
 * of a test share. Ends by itself when its parent is gone.
 */
export interface TenantProcessSettings {
  readonly url: string;
  readonly directUrl?: string;
  readonly schema: string;
  readonly workerId: string;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
  readonly tickMs: number;
  readonly startupMs?: number;
  readonly tenants: number;
  /** Each tenant acts so often: it looks at its signal and tells. */
  readonly actMs?: number;
  /** How long a tenant takes to end. */
  readonly endMs?: number;
  /** After a freeze, try to write under the token of then. */
  readonly writesStale?: boolean;
}

export type TenantMessage =
  | { readonly is: "ready" }
  | { readonly is: "event"; readonly name: string; readonly generation?: string; readonly at: number }
  | { readonly is: "refused"; readonly tenant: string; readonly at: number }
  | {
      readonly is: "start" | "act" | "abort" | "end";
      readonly tenant: string;
      readonly token: string;
      readonly at: number;
    };

const settings = JSON.parse(process.argv[2] ?? "{}") as TenantProcessSettings;
process.on("disconnect", () => process.exit(0));

const now = (): number => performance.timeOrigin + performance.now();
const tell = (message: TenantMessage): void => void (process.connected && process.send?.(message));
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const { url, directUrl, schema, workerId, heartbeatMs, ttlMs, tickMs, startupMs = 500 } = settings;
const direct = directUrl === undefined ? {} : { directUrl };
const lh = await connect({
  url,
  schema,
  logger: false,
  workerId,
  heartbeatMs,
  ttlMs,
  connectionsMax: 3,
  ...direct,
});
lh.on("worker:registered", ({ generation }) =>
  tell({ is: "event", name: "worker:registered", generation: String(generation), at: now() }),
);
lh.on("trust:lost", () => tell({ is: "event", name: "trust:lost", at: now() }));

/** What a process that does not look at its signal would do: write under the token it had. */
async function writeAnyway(tenant: string, token: bigint): Promise<void> {
  try {
    await lh.transaction(async (tx) => await lh.fence(tx, `tenant:${tenant}`, token));
  } catch (error) {
    if (error instanceof StaleFenceError) tell({ is: "refused", tenant, at: now() });
  }
}

const supervisor = createTenantSupervisor(lh, {
  fleet: true,
  tickMs,
  startupMs,
  hot: () => Array.from({ length: settings.tenants }, (_, n) => `tenant-${n}`),
  start: async (tenant, { signal, fenceToken }) => {
    const about = { tenant, token: String(fenceToken) };
    tell({ is: "start", ...about, at: now() });
    signal.addEventListener("abort", () => tell({ is: "abort", ...about, at: now() }));
    if (settings.writesStale === true)
      await lh.transaction(async (tx) => await lh.fence(tx, `tenant:${tenant}`, fenceToken));
    if (settings.actMs !== undefined) {
      const timer = setInterval(() => {
        if (!signal.aborted) tell({ is: "act", ...about, at: now() });
      }, settings.actMs);
      signal.addEventListener("abort", () => clearInterval(timer));
      if (settings.writesStale === true)
        signal.addEventListener("abort", () => void sleep(200).then(() => writeAnyway(tenant, fenceToken)));
    }
    return about;
  },
  stop: async (_, about) => {
    if (settings.endMs !== undefined) await sleep(settings.endMs);
    if (about !== undefined) tell({ is: "end", ...about, at: now() });
  },
});
await supervisor.start();
tell({ is: "ready" });
