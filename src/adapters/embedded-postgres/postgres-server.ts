import { rm } from "node:fs/promises";
import { EmbeddedPostgresError } from "../../errors.js";
import type { Launched, LaunchPlan } from "./launch.js";
import { launch } from "./launch.js";
import type { LiveServer } from "./live-server.js";
import type { Postmaster, StopMode } from "./postmaster.js";
import type { ServerFolder } from "./server-folder.js";

/** A running PostgreSQL server. */
export interface PostgresServer {
  /** For `pg` and every other client, with the password in it. Stays the same over restarts. */
  readonly url: string;
  readonly port: number;
  /** Such as `18.4`. */
  readonly version: string;
  /** The folder that holds the data, in its `data` folder. */
  readonly dataDirectory: string;
  /** The server's main process; another one after each restart. */
  readonly pid: number;
  /**
   * Stops the server and removes a throw-away folder. A server that was already running when we came is left running.
   * The mode is `fast` unless told otherwise.
   */
  stop(mode?: StopMode): Promise<void>;
  /** Stops it if it runs, and starts it again on the same data and port. */
  restart(mode?: StopMode): Promise<void>;
  /** Ends the main process by SIGKILL, as a crash would. `restart()` brings it back, `stop()` clears it away. */
  kill(): Promise<void>;
}

/** A server that this process started and therefore ends. */
export class OwnServer implements PostgresServer {
  readonly url: string;
  readonly port: number;
  readonly version: string;
  readonly dataDirectory: string;
  readonly #folder: ServerFolder;
  readonly #plan: LaunchPlan;
  #postmaster: Postmaster;
  #isStopped = false;
  #lastStep: Promise<void> = Promise.resolve();

  constructor(launched: Extract<Launched, { kind: "started" }>, folder: ServerFolder, plan: LaunchPlan) {
    this.url = launched.url;
    this.port = launched.port;
    this.version = launched.version;
    this.dataDirectory = folder.path;
    this.#folder = folder;
    this.#plan = { ...plan, port: launched.port, mayJoin: false };
    this.#postmaster = launched.postmaster;
  }

  get pid(): number {
    return this.#postmaster.pid;
  }

  stop(mode: StopMode = "fast"): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isStopped) return;
      this.#isStopped = true;
      await this.#postmaster.stop(mode);
      if (this.#folder.isThrowAway) await removeFolder(this.#folder.path);
      this.#plan.guard.dismiss();
    });
  }

  restart(mode: StopMode = "fast"): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isStopped) throw new EmbeddedPostgresError("The server was stopped; start a new one.");
      await this.#postmaster.stop(mode);
      const launched = await launch(this.#plan);
      if (launched.kind === "started") this.#postmaster = launched.postmaster;
    });
  }

  kill(): Promise<void> {
    return this.#inTurn(() => this.#postmaster.kill());
  }

  /** Steps never overlap: a stop that is asked for during a restart stops what the restart has started. */
  #inTurn(step: () => Promise<void>): Promise<void> {
    const turn = this.#lastStep.then(step);
    this.#lastStep = turn.catch(() => undefined);
    return turn;
  }
}

/** A server that was running on the folder before: it is used, and left alone. */
export function joinedServer(server: LiveServer, folder: ServerFolder): PostgresServer {
  const refuse = (act: string) => (): Promise<void> =>
    Promise.reject(
      new EmbeddedPostgresError(
        `The server on ${folder.path} was started elsewhere, so it cannot be ${act} here.`,
      ),
    );
  return Object.freeze({
    url: server.url,
    port: server.port,
    version: server.version,
    dataDirectory: folder.path,
    pid: server.pid,
    stop: () => Promise.resolve(),
    restart: refuse("restarted"),
    kill: refuse("killed"),
  });
}

/** The sessions of a killed server end by themselves a moment later and may still write; hence the tries. */
export async function removeFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
