import { realpath } from "node:fs/promises";
import pg from "pg";
import { readPassword } from "./password.js";

export interface ServerAnswer {
  /** For `pg` and every other client, with the password in it. */
  readonly url: string;
  /** Such as `18.4`. */
  readonly version: string;
}

/**
 * Asks the server on a port of this machine who it is. Returns undefined when nobody answers in time, or when the one
 * who answers keeps its data elsewhere: another server may have taken the port.
 */
export async function askServer(port: number, dataPath: string): Promise<ServerAnswer | undefined> {
  const url = urlOf(port, await readPassword(dataPath));
  const client = new pg.Client({
    connectionString: url,
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
    return { url, version: row.version.split(" ")[0] ?? row.version };
  } catch {
    // Not listening yet, still starting, or no server of ours at all. The caller asks again or does without.
    return undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function urlOf(port: number, password: string | undefined): string {
  const user = password === undefined ? "postgres" : `postgres:${password}`;
  return `postgres://${user}@127.0.0.1:${port}/postgres`;
}

const CONNECT_TIMEOUT_MS = 2_000;
const QUERY_TIMEOUT_MS = 5_000;
