import type { Stats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { EmbeddedPostgresError } from "../../errors.js";
import type { Account } from "./account.js";
import { systemErrorCode } from "./system-error-code.js";

/**
 * Says whether the account may pass through every folder down to the path. Parts that do not exist yet count as open,
 * since we are the ones who will make them. Reads the plain permission bits; access lists are not looked at.
 */
export async function isReachable(path: string, account: Account | undefined): Promise<boolean> {
  if (account === undefined) return true;
  const existing = await nearestExisting(path);
  for (let step = existing; ; step = dirname(step)) {
    if (!mayEnter(await stat(step), account)) return false;
    if (dirname(step) === step) return true;
  }
}

/** A folder for temporary files that the account can reach. `TMPDIR` may well point into a private home. */
export async function reachableTemporaryFolder(account: Account | undefined): Promise<string> {
  const candidates = account === undefined ? [tmpdir()] : [tmpdir(), "/tmp", "/var/tmp"];
  for (const candidate of candidates) {
    if (await isReachable(candidate, account)) return candidate;
  }
  throw new EmbeddedPostgresError(
    `The account ${account?.name} can reach none of ${candidates.join(", ")}. Set TMPDIR to a folder that it can.`,
  );
}

async function nearestExisting(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    return nearestExisting(dirname(path));
  }
}

function mayEnter(stats: Stats, account: Account): boolean {
  if (stats.uid === account.uid) return (stats.mode & 0o100) !== 0;
  if (stats.gid === account.gid) return (stats.mode & 0o010) !== 0;
  return (stats.mode & 0o001) !== 0;
}
