import { chown, cp, lstat, readdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import pg from "pg";
import { type PostgresServer, startPostgres } from "../src/embedded.js";

const notCopied = new Set(["postmaster.pid", "postmaster.opts", "pg_wal/archive_status"]);

/** A hot standby of a running server, which streams from it by way of the URL given. */
export async function startStandby(
  primary: PostgresServer,
  dataDirectory: string,
  streamFrom: string,
): Promise<PostgresServer> {
  await baseBackup(primary, dataDirectory);
  await writeFile(join(dataDirectory, "data", "standby.signal"), "");
  const { hostname, port, password } = new URL(streamFrom);
  const from = `host=${hostname} port=${port} user=postgres password=${password} application_name=standby`;
  const standby = await startPostgres({
    dataDirectory,
    durable: true,
    settings: { primary_conninfo: from },
  });
  await untilStreaming(primary.url);
  return standby;
}

/** By hand: the embedded server comes without pg_basebackup. */
export async function baseBackup(primary: PostgresServer, dataDirectory: string): Promise<void> {
  const client = await connected(primary.url);
  const from = join(primary.dataDirectory, "data");
  const to = join(dataDirectory, "data");
  try {
    await client.query("select pg_backup_start('base', true)");
    await cp(from, to, {
      recursive: true,
      filter: (path) => !notCopied.has(relative(from, path)),
    });
    const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
    await writeFile(join(to, "backup_label"), rows[0]?.labelfile ?? "");
  } finally {
    await client.end();
  }
  const { uid, gid } = await lstat(from);
  for (const path of [dataDirectory, ...(await pathsIn(dataDirectory))]) await chown(path, uid, gid);
}

async function pathsIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.map((entry) => join(entry.parentPath, entry.name));
}

async function untilStreaming(url: string): Promise<void> {
  const client = await connected(url);
  try {
    for (let tries = 0; tries < 200; tries++) {
      const { rows } = await client.query("select 1 from pg_stat_replication where state = 'streaming'");
      if (rows.length > 0) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    await client.end();
  }
  throw new Error("The standby does not stream.");
}

/** Commits wait for the standby from now on. */
export async function makeSynchronous(primary: PostgresServer): Promise<void> {
  const client = await connected(primary.url);
  await client.query("alter system set synchronous_standby_names = '*'");
  await client.query("select pg_reload_conf()");
  await client.end();
}

/** The standby becomes a server of its own. Nobody stands by for it, so its commits wait for nobody. */
export async function promote(standby: PostgresServer): Promise<void> {
  const client = await connected(standby.url);
  await client.query("select pg_promote(true, 30)");
  await client.query("alter system reset synchronous_standby_names");
  await client.query("select pg_reload_conf()");
  await client.end();
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  return client;
}
