import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** What a worker may need beyond its drain: to close its connections and end. */
const restMs = 10_000;
const pipeVariable = "LEASEHOLD_DEV_PIPE";

/** The worker of `leasehold dev`: a child process that Node starts again when a file that it has loaded changes. Node sends SIGTERM before, so it drains. */
export class DevWorker {
  readonly #child: ChildProcess;
  readonly ended: Promise<void>;

  constructor(path: string, environment: NodeJS.ProcessEnv) {
    const main = fileURLToPath(new URL("./main.js", import.meta.url));
    const args = ["--watch", "--watch-preserve-output", main, "worker", path];
    const env = { ...environment, [pipeVariable]: "1" };
    // A group of its own, so that Ctrl-C reaches this process only, which then drains the worker before the server stops.
    this.#child = spawn(process.execPath, args, {
      env,
      stdio: ["pipe", "inherit", "inherit"],
      detached: true,
    });
    this.ended = once(this.#child, "exit").then(() => {});
  }

  /** Waits until it has drained, with a limit. */
  async drain(): Promise<void> {
    this.#child.kill("SIGTERM");
    const { drainLimitMs, abortGraceMs, drainRestMs } = (await import("../src/index.js")).defaults;
    const limitMs = drainLimitMs + abortGraceMs + drainRestMs + restMs;
    const late = setTimeout(() => this.#child.kill("SIGKILL"), limitMs);
    await this.ended;
    clearTimeout(late);
  }
}

/** Whether this process is the worker of `leasehold dev`. */
export function isOfDev(environment: NodeJS.ProcessEnv): boolean {
  return environment[pipeVariable] !== undefined;
}

/** In the worker: when it ends without having been told to, says that Node's watcher starts it again after a change. A worker that changed is told to end before that. */
export function sayEndToDev(environment: NodeJS.ProcessEnv, note: (line: string) => void): void {
  if (!isOfDev(environment)) return;
  const tell = (): void =>
    note("The worker has ended; the database goes on. Change the file, and leasehold dev starts it again.");
  process.once("exit", tell);
  for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => process.off("exit", tell));
}

/**
 * In the worker: when `leasehold dev` is killed, its end of the pipe closes. Then Node's watcher, our parent, is told to stop, and it stops us. Once the watcher has died, our parent is PID 1
 * or another process that adopts orphans, which must not be told anything; then this process stops by itself.
 */
export function endWithDev(environment: NodeJS.ProcessEnv): void {
  if (!isOfDev(environment)) return;
  const watcher = process.ppid;
  const stop = (): boolean => process.kill(process.ppid === watcher ? watcher : process.pid, "SIGTERM");
  process.stdin.once("end", stop).resume();
  (process.stdin as NodeJS.ReadStream & { unref?(): void }).unref?.();
}
