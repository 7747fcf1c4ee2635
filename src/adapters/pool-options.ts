import pg from "pg";

/** What of a pool's options says where the server is and who we are. Limits, parsers and sizes of the pool stay its own. */
const wayIn = [
  "connectionString",
  "host",
  "port",
  "user",
  "password",
  "database",
  "ssl",
  "sslnegotiation",
  "enableChannelBinding",
  "scramMaxIterations",
  "stream",
  "options",
  "client_encoding",
] as const;

/**
 * For a client of our own on the server of a user's pool. Each option is read by its name, because a pool hides the password from
 * enumeration; a password may be a function, which the client calls.
 */
export function clientConfig(options: pg.PoolConfig): pg.ClientConfig {
  const given = options as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    wayIn.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]),
  );
}

/** Where a connection goes, for a message: `"user" at host:port/database`. */
export function placeOf(options: pg.ClientConfig | undefined): string {
  try {
    const { user, host, port, database }: Partial<pg.Client> = new pg.Client(options);
    const who = user ? `"${user}"` : "no user (neither the address nor the environment names one)";
    return `${who} at ${host}:${port}${database ? `/${database}` : ""}`;
  } catch {
    return "the pool";
  }
}

/** A pool of the user's that was ended: no later try finds it open again. */
export function isPoolEnded(error: unknown): boolean {
  return error instanceof Error && /pool after calling end/.test(error.message);
}
