import type { ChildProcess } from "node:child_process";
import { chown, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedPostgresError } from "../../errors.js";
import type { ExitGuard } from "./exit-guard.js";
import { newPassword, passwordPath } from "./password.js";
import { type Programs, startProgram } from "./programs.js";
import { DATA_FOLDER, type ServerFolder } from "./server-folder.js";
import { systemErrorCode } from "./system-error-code.js";

export interface InitialisePlan {
  readonly programs: Programs;
  readonly folder: ServerFolder;
  readonly isDurable: boolean;
  readonly guard: ExitGuard;
}

/** Makes the data folder on the first start. On later ones checks that this version of the server can open it. */
export async function initialise(plan: InitialisePlan): Promise<void> {
  const made = await readDataMajor(plan.folder.dataPath);
  if (made === undefined) return makeData(plan);
  if (made !== plan.programs.major) {
    throw new EmbeddedPostgresError(
      `${plan.folder.path} was made by PostgreSQL ${made} and the binaries are of PostgreSQL ${plan.programs.major}. ` +
        "Name the binaries of the old version as binariesPackage, or start with a new folder.",
    );
  }
}

async function readDataMajor(dataPath: string): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(join(dataPath, "PG_VERSION"), "utf8"), 10);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Done under another name and moved when complete: an interrupted first start leaves nothing that looks usable. */
async function makeData({ programs, folder, isDurable, guard }: InitialisePlan): Promise<void> {
  const draft = await mkdtemp(join(folder.path, `${DATA_FOLDER}-draft-`));
  // initdb wants an empty folder, so the password lies beside it until the data is made.
  const passwordFile = `${draft}.password`;
  await writeFile(passwordFile, newPassword(), { mode: 0o600, flag: "wx" });
  if (programs.account !== undefined) {
    for (const path of [draft, passwordFile]) await chown(path, programs.account.uid, programs.account.gid);
  }
  try {
    const parameters = initdbParameters(programs.major, { draft, passwordFile, isDurable });
    await runInitdb(programs, { parameters, guard });
    await rename(passwordFile, passwordPath(draft));
    await rename(draft, folder.dataPath);
  } catch (error) {
    for (const path of [draft, passwordFile]) await rm(path, { recursive: true, force: true });
    // Another process may have been faster with the same kept folder; its data is as good as ours.
    if ((await readDataMajor(folder.dataPath)) === undefined) throw error;
  }
}

function initdbParameters(
  major: number,
  data: { readonly draft: string; readonly passwordFile: string; readonly isDurable: boolean },
): string[] {
  // The builtin provider sorts alike on every system and came with PostgreSQL 17; plain C does so in older ones.
  const provider = major >= 17 ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : [];
  return [
    `--pgdata=${data.draft}`,
    "--username=postgres",
    "--auth=scram-sha-256",
    `--pwfile=${data.passwordFile}`,
    "--encoding=UTF8",
    "--locale=C",
    ...provider,
    ...(data.isDurable ? [] : ["--no-sync"]),
  ];
}

async function runInitdb(
  programs: Programs,
  { parameters, guard }: { readonly parameters: readonly string[]; readonly guard: ExitGuard },
): Promise<void> {
  const child = startProgram(programs, { name: "initdb", parameters }, ["ignore", "pipe", "pipe"]);
  guard.follow(child.pid);
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => output.push(chunk.toString()));
  }
  const timer = setTimeout(() => child.kill("SIGKILL"), INITDB_TIMEOUT_MS);
  const end = await endOf(child);
  clearTimeout(timer);
  guard.follow(undefined);
  if (end instanceof Error) throw cannotRun(programs.folder, end);
  if (end !== 0) throw new EmbeddedPostgresError(`initdb ended with ${end}:\n${output.join("").trim()}`);
}

const INITDB_TIMEOUT_MS = 120_000;

/** The exit status, the signal that ended it, or the error that kept it from starting. */
function endOf(child: ChildProcess): Promise<number | string | Error> {
  return new Promise((resolve) => {
    child.once("error", resolve);
    child.once("close", (status, signal) => resolve(status ?? signal ?? "no status"));
  });
}

function cannotRun(folder: string, cause: Error): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The programs in ${folder} cannot be run on this system (those for Linux need glibc): ${cause.message}`,
    { cause },
  );
}
