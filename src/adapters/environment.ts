import { hostname } from "node:os";

/** What the process's surroundings say. Read once, when a connection is made. */
export interface Environment {
  readonly databaseUrl: string | undefined;
  readonly schema: string | undefined;
  readonly workerId: string;
}

export function readEnvironment(): Environment {
  const { DATABASE_URL, LEASEHOLD_SCHEMA, WORKER_ID } = process.env;
  return {
    databaseUrl: DATABASE_URL === "" ? undefined : DATABASE_URL,
    schema: LEASEHOLD_SCHEMA === "" ? undefined : LEASEHOLD_SCHEMA,
    workerId: WORKER_ID === undefined || WORKER_ID === "" ? `${hostname()}-${process.pid}` : WORKER_ID,
  };
}
