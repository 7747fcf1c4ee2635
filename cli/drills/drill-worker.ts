import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { limits } from "./limits.js";

export interface WorkerSettings {
  readonly id: string;
  readonly url: string;
  readonly directUrl?: string;
  readonly concurrency: number;
  readonly release: "broken" | "fixed";
}

const compiledEntry = fileURLToPath(new URL("./worker-process.js", import.meta.url));

/** A worker of a drill: a real process, in a group of its own, so that Ctrl-C reaches the drill only. */
export class DrillWorker {
  readonly id: string;
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];

  /** `entry` is the program of the worker, for tests, which run the sources. */
  constructor(settings: WorkerSettings, environment: NodeJS.ProcessEnv, entry: string = compiledEntry) {
    this.id = settings.id;
    const env = { ...environment, LEASEHOLD_DRILL_WORKER: JSON.stringify(settings) };
    this.#child = spawn(process.execPath, [entry, `drill-${process.pid}`], {
      env,
      stdio: ["pipe", "ignore", "pipe"],
      detached: true,
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (part: string) => this.#keep(part));
    this.#child.stdin?.on("error", () => {}); // It ended first.
    this.ended = new Promise((resolve) => {
      this.#child.once("exit", () => resolve());
      this.#child.on("error", ({ message }) => {
        this.#keep(message);
        resolve(); // It could not be started.
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What it wrote last, for a drill that does not go as expected. */
  get lastLines(): readonly string[] {
    return this.#lines;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended;
  }

  /** In good order, as a deploy does it. */
  async drain(): Promise<void> {
    this.#child.kill("SIGTERM");
    const late = setTimeout(() => this.#child.kill("SIGKILL"), limits.drainMs);
    await this.ended;
    clearTimeout(late);
  }

  #keep(part: string): void {
    this.#lines.push(...part.split("\n").filter((line) => line !== ""));
    this.#lines.splice(0, this.#lines.length - limits.linesMax);
  }
}
