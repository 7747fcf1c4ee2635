import { hostname } from "node:os";

/** What the process's surroundings say. Read once, when a connection is made. */
export interface Environment {
  readonly databaseUrl: string | undefined;
  readonly schema: string | undefined;
  readonly workerId: string | undefined;
  /** As written; src/membership/member-settings.ts checks them. */
  readonly heartbeatMs: string | undefined;
  readonly ttlMs: string | undefined;
  readonly tickMs: string | undefined;
  readonly hostname: string;
  readonly pid: number;
}

export function readEnvironment(): Environment {
  const { DATABASE_URL, LEASEHOLD_SCHEMA } = process.env;
  const { WORKER_ID, WORKER_LEASE_HEARTBEAT_MS, WORKER_LEASE_TTL_MS, WORKER_OWNERSHIP_TICK_MS } = process.env;
  return {
    databaseUrl: given(DATABASE_URL),
    schema: given(LEASEHOLD_SCHEMA),
    workerId: given(WORKER_ID),
    heartbeatMs: given(WORKER_LEASE_HEARTBEAT_MS),
    ttlMs: given(WORKER_LEASE_TTL_MS),
    tickMs: given(WORKER_OWNERSHIP_TICK_MS),
    hostname: hostname(),
    pid: process.pid,
  };
}

function given(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
