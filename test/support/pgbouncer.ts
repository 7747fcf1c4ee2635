import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { chown, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, inject, type TestContext } from "vitest";
import { type ExitGuard, guardExit } from "../../src/adapters/embedded-postgres/exit-guard.js";
import { pickFreePort } from "../../src/adapters/embedded-postgres/free-port.js";
import { type ServerFolder, throwAwayFolder } from "../../src/adapters/embedded-postgres/server-folder.js";
import { PgBouncerProcess } from "./pgbouncer-process.js";

/** A pooler in transaction mode in front of a server. */
export interface PgBouncer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Not among the expected reasons of skips-reporter.ts, so that CI fails when the pooler is missing. */
const MISSING = "needs pgbouncer in PATH or /usr/sbin (Debian: apt-get install pgbouncer)";

/**
 * For the tests of one file: call it at the top, and what it returns in each test. The pooler stands in front of the server of the
 * tests from the first test of the file to the last; where there is no pgbouncer, the tests that ask for its address are skipped.
 */
export function pgBouncerUrl(): (context: TestContext) => string {
  let bouncer: PgBouncer | null = null;
  beforeAll(async () => {
    bouncer = await startPgBouncer(inject("databaseUrl"));
  });
  afterAll(async () => {
    await bouncer?.stop();
  });
  return (context) => (bouncer === null ? context.skip(MISSING) : bouncer.url);
}

/** Starts a pooler of its own, which ends with this process however that ends. Null where there is no pgbouncer. */
export async function startPgBouncer(databaseUrl: string): Promise<PgBouncer | null> {
  const program = findProgram();
  if (program === null) return null;
  const folder = await throwAwayFolder();
  const guard = guardExit(folder.path);
  const putAway = async (): Promise<void> => {
    await rm(folder.path, { recursive: true, force: true });
    guard.dismiss();
  };
  try {
    const { url, child } = await launch({ program, databaseUrl, folder, guard });
    const stop = async (): Promise<void> => {
      await child.kill();
      await putAway();
    };
    return { url, stop };
  } catch (error) {
    await putAway();
    throw error;
  }
}

/** Debian installs it where only root looks for programs. */
function findProgram(): string | null {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"];
  const isProgram = (path: string): boolean => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  };
  return folders.map((folder) => join(folder, "pgbouncer")).find(isProgram) ?? null;
}

interface LaunchPlan {
  readonly program: string;
  readonly databaseUrl: string;
  readonly folder: ServerFolder;
  readonly guard: ExitGuard;
}

/** Starts again when somebody took the port in the moment between picking and binding it. */
async function launch(plan: LaunchPlan): Promise<{ url: string; child: PgBouncerProcess }> {
  let words = "";
  for (let attempt = 0; attempt < LAUNCH_ATTEMPTS_MAX; attempt++) {
    const port = await pickFreePort();
    const url = new URL(plan.databaseUrl);
    url.hostname = "127.0.0.1";
    url.port = String(port);
    const child = new PgBouncerProcess({ ...plan, configPath: await configure(plan, port) });
    if (await child.isReady(url.href)) return { url: url.href, child };
    await child.kill();
    words = child.lastWords();
    if (!words.includes("Address already in use")) break;
  }
  throw new Error(
    `${plan.program} did not start in front of the server of the tests. Its last words:\n${words}`,
  );
}

const LAUNCH_ATTEMPTS_MAX = 5;

/** Writes the configuration for the account that the pooler runs under, and for nobody else: it may hold a password. */
async function configure({ program, databaseUrl, folder }: LaunchPlan, port: number): Promise<string> {
  // The driver knows best what an address means; it also reads PGUSER and the like.
  const { user = "", password, host, port: serverPort } = new pg.Client({ connectionString: databaseUrl });
  const usersPath = join(folder.path, "users.txt");
  const configPath = join(folder.path, "pgbouncer.ini");
  const files = [
    [usersPath, `${quoted(user)} ${quoted(password ?? "")}\n`],
    [configPath, configText(program, { host, serverPort, port, usersPath })],
  ] as const;
  for (const [path, text] of files) {
    await writeFile(path, text, { mode: 0o600 });
    if (folder.account !== undefined) await chown(path, folder.account.uid, folder.account.gid);
  }
  return configPath;
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

interface Place {
  readonly host: string;
  readonly serverPort: number;
  readonly port: number;
  readonly usersPath: string;
}

/** No user is an administrator, and no socket lies in /tmp. Options that the driver sends at the start are dropped, not refused. */
function configText(program: string, { host, serverPort, port, usersPath }: Place): string {
  return `[databases]
* = host=${host} port=${serverPort}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${usersPath}
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
ignore_startup_parameters = extra_float_digits,options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout
log_connections = 0
log_disconnections = 0
log_stats = 0
${knowsPreparedStatements(program) ? "max_prepared_statements = 0\n" : ""}`;
}

/** From 1.21 on it can carry named statements over; the tests are about poolers that do not, and 1.18 refuses the setting. */
function knowsPreparedStatements(program: string): boolean {
  const [, major = "0", minor = "0"] =
    /(\d+)\.(\d+)/.exec(execFileSync(program, ["--version"], { encoding: "utf8" })) ?? [];
  return Number(major) > 1 || Number(minor) >= 21;
}
