import { readFile, stat } from "node:fs/promises";
import { EmbeddedPostgresError } from "../../errors.js";

/** The operating system account that the server runs under when it cannot run under our own. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * PostgreSQL refuses to run as root, so root has to lend it another account. The owner of an existing data folder
 * comes first, because no other account may open it. Returns undefined when our own account will do.
 */
export async function chooseAccount(existingDataPath?: string): Promise<Account | undefined> {
  if (process.geteuid?.() !== 0) return undefined;

  // The account must be listed: PostgreSQL looks its own name up and stops when there is none.
  const accounts = parseAccounts(await readFile("/etc/passwd", "utf8"));
  if (existingDataPath !== undefined) return ownerOf(existingDataPath, accounts);

  const account = preferredAccount(accounts);
  if (account === undefined) {
    throw new EmbeddedPostgresError(
      "PostgreSQL does not run as root, and /etc/passwd lists no other account to run it under.",
    );
  }
  return account;
}

/** The lines of /etc/passwd that PostgreSQL can run under: any but root. Some systems give `nobody` the id -2. */
export function parseAccounts(passwd: string): Account[] {
  return passwd
    .split("\n")
    .map((line) => line.split(":"))
    .map(([name = "", , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ name, uid, gid }) => name !== "" && uid > 0 && gid > 0);
}

/** The account that can do the least is the best one. */
export function preferredAccount(accounts: readonly Account[]): Account | undefined {
  const named = ["nobody", "daemon"].map((name) => accounts.find((account) => account.name === name));
  return named.find((account) => account !== undefined) ?? accounts[0];
}

async function ownerOf(dataPath: string, accounts: readonly Account[]): Promise<Account> {
  const { uid } = await stat(dataPath);
  const owner = accounts.find((account) => account.uid === uid);
  if (owner !== undefined) return owner;

  const proposal = preferredAccount(accounts)?.name ?? "another account";
  throw new EmbeddedPostgresError(
    `${dataPath} belongs to user id ${uid}, which PostgreSQL cannot run under. ` +
      `Give the folder to ${proposal}: chown -R ${proposal} "${dataPath}"`,
  );
}
