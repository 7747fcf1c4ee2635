import { realpath } from "node:fs/promises";
import pg from "pg";

export interface ServerAnswer {
  /** Such as `18.4`. */
  readonly version: string;
}

/**
 * Asks the server on a port of this machine who it is. Returns undefined when nobody answers in time, or when the one
 * who answers keeps its data elsewhere: another server may have taken the port.
 */
export async function askServer(port: number, dataPath: string): Promise<ServerAnswer | undefined> {
  const client = new pg.Client({
    host: "127.0.0.1",
    port,
    user: "postgres",
    database: "postgres",
    ssl: false,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  });
  // The same failure also rejects the call below; without a listener it would end the process as well.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string; folder: string }>(
      "select current_setting('server_version') as version, current_setting('data_directory') as folder",
    );
    const row = rows[0];
    if (row === undefined || (await realpath(row.folder)) !== (await realpath(dataPath))) return undefined;
    return { version: row.version.split(" ")[0] ?? row.version };
  } catch {
    // Not listening yet, still starting, or no server of ours at all. The caller asks again or does without.
    return undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

const CONNECT_TIMEOUT_MS = 2_000;
const QUERY_TIMEOUT_MS = 5_000;
