import pg from "pg";
import { startPostgres } from "../../src/embedded.js";

/** A server that one run of the tests can use. */
export interface MatrixServer {
  readonly url: string;
  readonly version: string;
  readonly place: string;
  close(): Promise<void>;
}

/** The version that leasehold-dev brings along. */
const INSTALLED_MAJOR = 18;
/** The version that a server on the usual port is used for, as Debian 12 has it. */
const RUNNING_MAJOR = 15;
const RUNNING_URL = "postgres://postgres@127.0.0.1:5432/postgres";
const CONNECT_TIMEOUT_MS = 2_000;

/** Starts the server of a version, or opens a database of its own on one that runs. `install` finds its binaries. */
export async function openServer(major: number, install: (major: number) => string): Promise<MatrixServer> {
  const running = major === RUNNING_MAJOR ? await openRunningServer() : undefined;
  if (running !== undefined) return running;

  const options = major === INSTALLED_MAJOR ? {} : { binariesPackage: install(major) };
  const server = await startPostgres(options);
  return {
    url: server.url,
    version: server.version,
    place: `embedded, port ${server.port}`,
    close: () => server.stop(),
  };
}

async function openRunningServer(): Promise<MatrixServer | undefined> {
  const version = await askVersion();
  if (version === undefined || Number.parseInt(version, 10) !== RUNNING_MAJOR) return undefined;

  // A database for this run alone: what else is on the server stays out of reach of the tests.
  const database = `leasehold_matrix_${process.pid}`;
  await execute(`create database ${database} template template0 encoding 'UTF8'`);
  const url = new URL(RUNNING_URL);
  url.pathname = `/${database}`;
  return {
    url: url.href,
    version,
    place: `running, port ${url.port}`,
    close: () => execute(`drop database ${database} with (force)`),
  };
}

async function askVersion(): Promise<string | undefined> {
  const client = newClient();
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string }>(
      "select current_setting('server_version') as version",
    );
    return rows[0]?.version.split(" ")[0];
  } catch {
    // No server there, or none that lets us in: the embedded one takes its place.
    return undefined;
  } finally {
    await client.end();
  }
}

async function execute(statement: string): Promise<void> {
  const client = newClient();
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function newClient(): pg.Client {
  const client = new pg.Client({
    connectionString: RUNNING_URL,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // The same failure also rejects the call that is under way.
  client.on("error", () => undefined);
  return client;
}
