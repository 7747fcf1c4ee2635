import { chmod, lstat, mkdir } from "node:fs/promises";
import { EmbeddedPostgresError } from "../../errors.js";
import { systemErrorCode } from "./system-error-code.js";

/**
 * Makes a folder that only we can write to, or checks that an existing one is so. The name is known to everybody and
 * its parent is open to everybody, so another user could have made it first and put programs of his own into it.
 */
export async function makePrivateFolder(path: string): Promise<string> {
  try {
    await mkdir(path);
    // Not left to the umask: the account that the server runs under must be able to read it.
    await chmod(path, 0o755);
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") throw error;
    await checkIsOurs(path);
  }
  return path;
}

async function checkIsOurs(path: string): Promise<void> {
  const stats = await lstat(path);
  const isOurs = stats.isDirectory() && stats.uid === process.geteuid?.() && (stats.mode & 0o022) === 0;
  if (!isOurs) {
    throw new EmbeddedPostgresError(
      `${path} is in the way: it belongs to, or is open to, another user. Remove it.`,
    );
  }
}
