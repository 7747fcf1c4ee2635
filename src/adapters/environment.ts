/** What the process's surroundings say. Read once, when a connection is made. */
export interface Environment {
  readonly databaseUrl: string | undefined;
  readonly schema: string | undefined;
}

export function readEnvironment(): Environment {
  const { DATABASE_URL, LEASEHOLD_SCHEMA } = process.env;
  return {
    databaseUrl: DATABASE_URL === "" ? undefined : DATABASE_URL,
    schema: LEASEHOLD_SCHEMA === "" ? undefined : LEASEHOLD_SCHEMA,
  };
}
