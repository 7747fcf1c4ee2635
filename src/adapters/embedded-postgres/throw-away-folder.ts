import { createHash } from "node:crypto";
import { chmod, mkdtemp } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Account } from "./account.js";
import { isProcessAlive } from "./live-server.js";

/**
 * Makes a folder for one throw-away server. Its name tells who made it and when, so that a later start can see, without
 * opening it, that its maker is gone.
 */
export async function makeThrowAwayFolder(parent: string, account: Account | undefined): Promise<string> {
  const path = await mkdtemp(join(parent, `${PREFIX}${hostMark()}-${process.pid}-${Date.now()}-`));
  // The folder is made for its owner alone; another account has to pass through it to its data.
  if (account !== undefined) await chmod(path, 0o711);
  return path;
}

/** Says whether a name is that of a throw-away folder of this machine whose maker has ended. */
export function isAbandonedName(name: string): boolean {
  const match = NAME.exec(name);
  // Containers may share a temporary folder without seeing each other's processes: only our own host is judged.
  if (match === null || match[1] !== hostMark()) return false;
  const [pid, madeAtMs] = [Number(match[2]), Number(match[3])];
  if (pid !== process.pid) return !isProcessAlive(pid);
  // Our own process id, but older than we are: a container often gives the same id to each run.
  return madeAtMs < Date.now() - process.uptime() * 1_000 - CLOCK_TOLERANCE_MS;
}

const PREFIX = "leasehold-postgres-";
const NAME = /^leasehold-postgres-([0-9a-f]{8})-(\d+)-(\d+)-\w+$/;
const CLOCK_TOLERANCE_MS = 2_000;

function hostMark(): string {
  return createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
}
