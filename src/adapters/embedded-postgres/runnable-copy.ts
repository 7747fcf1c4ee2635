import { chmod, cp, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Account } from "./account.js";
import type { Binaries } from "./locate-binaries.js";
import { makePrivateFolder } from "./private-folder.js";
import { isReachable, reachableTemporaryFolder } from "./reach.js";
import { systemErrorCode } from "./system-error-code.js";

/**
 * The folder to run the server programs from: the installed one, or a copy of it when the account cannot reach it, for
 * instance below the home of root. The copy is made once for each version and shared by later starts.
 */
export async function runnableFolder(binaries: Binaries, account: Account | undefined): Promise<string> {
  const parts = ["bin/postgres", "bin/initdb", "lib", "share"].map((part) =>
    join(binaries.nativeFolder, part),
  );
  for (const part of parts) {
    if (!(await isReachable(part, account))) return copyOnce(binaries, account);
  }
  return binaries.nativeFolder;
}

async function copyOnce(binaries: Binaries, account: Account | undefined): Promise<string> {
  const temporaryFolder = await reachableTemporaryFolder(account);
  const cache = await makePrivateFolder(join(temporaryFolder, `leasehold-binaries-${process.geteuid?.()}`));
  const target = join(cache, binaries.version);
  if (await isWhole(target, binaries.nativeFolder)) return target;

  // Copied under another name and moved into place when it is whole, so nobody ever runs half a copy.
  const draft = await mkdtemp(`${target}-draft-`);
  try {
    await cp(binaries.nativeFolder, draft, { recursive: true, verbatimSymlinks: true });
    await openToAll(draft);
    await moveIntoPlace(draft, target);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return target;
}

/** Programs that tidy up temporary folders take away single files by age, so being there is not enough. */
async function isWhole(copy: string, source: string): Promise<boolean> {
  try {
    const [found, wanted] = await Promise.all([
      readdir(copy, { recursive: true }),
      readdir(source, { recursive: true }),
    ]);
    return found.length === wanted.length;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** Lets every account read the copy and run what its owner may run; the installed files may be closed by a umask. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const isForRunning = ((await stat(path)).mode & 0o100) !== 0;
    await chmod(path, isForRunning ? 0o755 : 0o644);
  }
}

async function moveIntoPlace(draft: string, target: string): Promise<void> {
  try {
    await rename(draft, target);
  } catch (error) {
    // Either another process was faster, and its copy is as good as ours, or an incomplete copy is in the way.
    if (systemErrorCode(error) !== "ENOTEMPTY" && systemErrorCode(error) !== "EEXIST") throw error;
    if (await isWhole(target, draft)) return;
    const incomplete = await mkdtemp(`${target}-incomplete-`);
    await rename(target, incomplete);
    await rename(draft, target);
    await rm(incomplete, { recursive: true, force: true });
  }
}
