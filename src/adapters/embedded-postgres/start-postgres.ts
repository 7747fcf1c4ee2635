import { join } from "node:path";
import { EmbeddedPostgresError } from "../../errors.js";
import { removeAbandonedFolders } from "./abandoned-folders.js";
import { type ExitGuard, guardExit } from "./exit-guard.js";
import { initialise } from "./initialise.js";
import { launch } from "./launch.js";
import { findLiveServer } from "./live-server.js";
import { type Binaries, locateBinaries } from "./locate-binaries.js";
import { joinedServer, OwnServer, type PostgresServer, removeFolder } from "./postgres-server.js";
import { preparePrograms } from "./programs.js";
import { keptFolder, type ServerFolder, throwAwayFolder } from "./server-folder.js";
import { settingParameters } from "./server-settings.js";

export interface StartPostgresOptions {
  /**
   * A folder to keep the data in over restarts, made on the first start. Without it the data goes to a throw-away folder,
   * which is removed when the server is stopped or this process ends.
   */
  readonly dataDirectory?: string | undefined;
  /** Whether data survives a crash of the machine. True for a kept folder, false (and faster) for a throw-away one. */
  readonly durable?: boolean | undefined;
  /** The port on 127.0.0.1; a free one is picked if not given. */
  readonly port?: number | undefined;
  /** The folder of an installed package of binaries, for another version than the one of leasehold-dev. */
  readonly binariesPackage?: string | undefined;
  /** Server settings by name, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** Receives each line that the server writes, and a line for each unusual step taken to start it. */
  readonly log?: ((line: string) => void) | undefined;
}

/**
 * Starts a real PostgreSQL server for development and tests and returns when it answers. It listens on 127.0.0.1 only and asks
 * for a password, a random one that is made with the data and is part of `url`. It is not for production.
 *
 * The server ends with this process, however that ends. A kept folder has one server at a time: if a server already
 * runs on it, that one is used with the settings it has, and `stop()` leaves it to the process that started it.
 */
export async function startPostgres(options: StartPostgresOptions = {}): Promise<PostgresServer> {
  const log = options.log ?? ((): void => undefined);
  const isDurable = options.durable ?? options.dataDirectory !== undefined;
  const settings = settingParameters({ isDurable, settings: options.settings ?? {} });
  const port = checkedPort(options.port);
  const binaries = await locateBinaries(options.binariesPackage);
  const folder =
    options.dataDirectory === undefined
      ? await throwAwayFolder()
      : await keptFolder(options.dataDirectory, log);
  const guard = guardExit(folder.isThrowAway ? folder.path : undefined);
  try {
    return await startIn(folder, { binaries, settings, port, isDurable, guard, log });
  } catch (error) {
    if (folder.isThrowAway) await removeFolder(folder.path);
    guard.dismiss();
    throw error;
  }
}

/** The server that runs on a kept folder now, started by this process or another; undefined when none does. Starts nothing. */
export async function findPostgres(dataDirectory: string): Promise<PostgresServer | undefined> {
  const folder = await keptFolder(dataDirectory, () => undefined);
  const server = await findLiveServer(folder.dataPath);
  return server && joinedServer(server, folder);
}

interface StartPlan {
  readonly binaries: Binaries;
  readonly settings: readonly string[];
  readonly port: number | undefined;
  readonly isDurable: boolean;
  readonly guard: ExitGuard;
  readonly log: (line: string) => void;
}

async function startIn(folder: ServerFolder, plan: StartPlan): Promise<PostgresServer> {
  const { settings, port, isDurable, guard, log } = plan;
  if (folder.isThrowAway) await removeAbandonedFolders(join(folder.path, ".."), log);
  const linksFolder = join(folder.path, "lib");
  const programs = await preparePrograms(plan.binaries, { account: folder.account, linksFolder });
  await initialise({ programs, folder, isDurable, guard });

  const mayJoin = !folder.isThrowAway;
  const launchPlan = { programs, dataPath: folder.dataPath, settings, port, mayJoin, guard, log };
  const launched = await launch(launchPlan);
  if (launched.kind === "started") return new OwnServer(launched, folder, launchPlan);

  log(`a server is already running on ${folder.path}; it is used as it is`);
  guard.dismiss();
  return joinedServer(launched.server, folder);
}

function checkedPort(port: number | undefined): number | undefined {
  if (port === undefined || (Number.isInteger(port) && port > 0 && port < 65_536)) return port;
  throw new EmbeddedPostgresError(`${port} is not a port number.`);
}
