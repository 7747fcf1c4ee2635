import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findLiveServer, isProcessAlive, readServerClaim } from "./live-server.js";
import { DATA_FOLDER } from "./server-folder.js";
import { isAbandonedName } from "./throw-away-folder.js";

/**
 * Removes throw-away folders whose maker is gone, and stops the servers in them. The exit guard does this at once when
 * a process ends; this is for what a guard could not do, because it was killed along with the process.
 */
export async function removeAbandonedFolders(parent: string, log: (line: string) => void): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!isAbandonedName(name)) continue;
    const path = join(parent, name);
    try {
      if (await removeAbandoned(path)) log(`removed ${path}, left behind by a process that is gone`);
    } catch (error) {
      // Another process may be removing the same folder. Tidying must never keep a new server from starting.
      log(`could not remove ${path}: ${String(error)}`);
    }
  }
}

async function removeAbandoned(path: string): Promise<boolean> {
  const stats = await lstat(path);
  if (!stats.isDirectory() || stats.uid !== (process.geteuid?.() ?? stats.uid)) return false;
  if (!(await stopServerOf(join(path, DATA_FOLDER)))) return false;
  await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  return true;
}

/** Returns false when a process that may be the server is alive but does not answer: then nothing is touched. */
async function stopServerOf(dataPath: string): Promise<boolean> {
  const server = await findLiveServer(dataPath);
  if (server === undefined) return hasEnded(dataPath);
  process.kill(server.pid, "SIGQUIT");
  for (let attempt = 0; attempt < STOP_POLLS_MAX; attempt += 1) {
    if (await hasEnded(dataPath)) return true;
    await sleep(STOP_POLL_MS);
  }
  return false;
}

/** The server's last act is to remove its file. The process itself may stay listed until its parent looks. */
async function hasEnded(dataPath: string): Promise<boolean> {
  const claim = await readServerClaim(dataPath);
  return claim === undefined || !isProcessAlive(claim.pid);
}

const STOP_POLL_MS = 20;
const STOP_POLLS_MAX = 250;
