import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { chmod, mkdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { EmbeddedPostgresError } from "../../errors.js";
import { type Account, chooseAccount } from "./account.js";
import { makePrivateFolder } from "./private-folder.js";
import { isReachable, reachableTemporaryFolder } from "./reach.js";
import { systemErrorCode } from "./system-error-code.js";
import { makeThrowAwayFolder } from "./throw-away-folder.js";

/** A folder of ours for one server, with the server's data in a folder within it. */
export interface ServerFolder {
  readonly path: string;
  readonly dataPath: string;
  readonly isThrowAway: boolean;
  /** The account that the data belongs to, when it is not our own. */
  readonly account: Account | undefined;
}

/**
 * The data lies one level down, so that it can be prepared beside its place and moved there when it is whole, also when
 * the folder itself is a mount point, and so that things which are not PostgreSQL's have a place too.
 */
export const DATA_FOLDER = "data";

/** A new folder that goes away with its server. */
export async function throwAwayFolder(): Promise<ServerFolder> {
  const account = await chooseAccount();
  const path = await makeThrowAwayFolder(await reachableTemporaryFolder(account), account);
  return Object.freeze({ path, dataPath: join(path, DATA_FOLDER), isThrowAway: true, account });
}

/** The folder that the caller named, made if need be, or its replacement when the server's account cannot reach it. */
export async function keptFolder(dataDirectory: string, log: (line: string) => void): Promise<ServerFolder> {
  const wanted = resolve(dataDirectory);
  await checkIsNotData(wanted);
  const account = await accountFor(join(wanted, DATA_FOLDER));
  const isUsable = await isReachable(wanted, account);
  const path = isUsable ? await makeFolder(wanted, account) : await replacementFor(wanted);
  if (path !== wanted)
    log(`the account ${account?.name} cannot reach ${wanted}; the data is kept in ${path}`);
  return Object.freeze({ path, dataPath: join(path, DATA_FOLDER), isThrowAway: false, account });
}

async function checkIsNotData(path: string): Promise<void> {
  if ((await statOrUndefined(join(path, "PG_VERSION"))) === undefined) return;
  throw new EmbeddedPostgresError(
    `${path} is itself the data of a PostgreSQL server. Name a folder that holds it as "${DATA_FOLDER}", or a new one.`,
  );
}

async function accountFor(dataPath: string): Promise<Account | undefined> {
  const owner = await statOrUndefined(dataPath);
  if (owner === undefined) return chooseAccount();

  const uid = process.geteuid?.() ?? owner.uid;
  if (uid !== 0 && uid !== owner.uid) {
    throw new EmbeddedPostgresError(
      `${dataPath} belongs to user id ${owner.uid}, and this process is user id ${uid}.`,
    );
  }
  return chooseAccount(dataPath);
}

async function statOrUndefined(path: string): Promise<Stats | undefined> {
  return stat(path).catch((error: unknown) => {
    if (systemErrorCode(error) !== "ENOENT") throw error;
    return undefined;
  });
}

/** Folders that we make are made passable for the account, whatever the umask says; those that exist are left alone. */
async function makeFolder(path: string, account: Account | undefined): Promise<string> {
  const firstMade = await mkdir(path, { recursive: true });
  if (firstMade === undefined || account === undefined) return path;
  for (let step = path; step.length >= firstMade.length; step = dirname(step)) await chmod(step, 0o711);
  return path;
}

async function replacementFor(wanted: string): Promise<string> {
  const parent = await makePrivateFolder(`/var/tmp/leasehold-${process.geteuid?.()}`);
  return makePrivateFolder(join(parent, createHash("sha256").update(wanted).digest("hex").slice(0, 16)));
}
