import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { join } from "node:path";
import type { Account } from "./account.js";
import { libraryEnvironment } from "./libraries.js";
import type { Binaries } from "./locate-binaries.js";
import { runnableFolder } from "./runnable-copy.js";

/** The server programs in a place and with an environment in which the account can run them. */
export interface Programs {
  readonly folder: string;
  readonly major: number;
  readonly account: Account | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Prepares the programs for one account. Links that the package lacks go into `linksFolder`. */
export async function preparePrograms(
  binaries: Binaries,
  { account, linksFolder }: { readonly account: Account | undefined; readonly linksFolder: string },
): Promise<Programs> {
  const nativeFolder = await runnableFolder(binaries, account);
  return Object.freeze({
    folder: nativeFolder,
    major: binaries.major,
    account,
    environment: {
      ...withoutPostgresVariables(process.env),
      ...(await libraryEnvironment({ nativeFolder, linksFolder })),
      // Keeps messages in English, since some are read back, and spares macOS a start failure without a locale.
      LC_ALL: "C",
    },
  });
}

/** Starts one program, in a session of its own: Ctrl-C in a terminal is for the application, not for its server. */
export function startProgram(
  programs: Programs,
  command: { readonly name: "initdb" | "postgres" | "pg_ctl"; readonly parameters: readonly string[] },
  stdio: StdioOptions,
): ChildProcess {
  const file = process.platform === "win32" ? `${command.name}.exe` : command.name;
  return spawn(join(programs.folder, "bin", file), command.parameters, {
    // The programs look up where they are, which fails in a folder that their account cannot read.
    cwd: programs.folder,
    env: programs.environment,
    stdio,
    detached: process.platform !== "win32",
    windowsHide: true,
    ...(programs.account === undefined ? {} : { uid: programs.account.uid, gid: programs.account.gid }),
  });
}

/** PGDATA, PGPORT and the like are meant for the application's own server. */
function withoutPostgresVariables(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("PG")));
}
