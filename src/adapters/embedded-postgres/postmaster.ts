import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { ExitGuard } from "./exit-guard.js";
import { type Programs, startProgram } from "./programs.js";
import { listenParameters } from "./server-settings.js";

/** `fast` ends all sessions and writes everything out; `immediate` just ends, and the next start recovers. */
export type StopMode = "fast" | "immediate";

export interface PostmasterPlan {
  readonly programs: Programs;
  readonly dataPath: string;
  readonly port: number;
  readonly settings: readonly string[];
  readonly guard: ExitGuard;
  readonly log: (line: string) => void;
}

/** The main process of one run of the server, from its start to its end. */
export class Postmaster {
  readonly pid: number;
  /** Settles when the process has ended, or could not be started at all. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #plan: PostmasterPlan;
  readonly #lastLines: string[] = [];
  readonly #outputClosed: Promise<void>;
  #isRunning = true;

  constructor(plan: PostmasterPlan) {
    const parameters = ["-D", plan.dataPath, ...plan.settings, ...listenParameters(plan.port)];
    this.#plan = plan;
    this.#child = startProgram(plan.programs, { name: "postgres", parameters }, ["ignore", "ignore", "pipe"]);
    this.pid = this.#child.pid ?? 0;
    plan.guard.follow(this.#child.pid);
    this.ended = new Promise((resolve) => {
      const end = (error?: unknown): void => {
        if (error instanceof Error) this.#keepLine(error.message);
        this.#isRunning = false;
        plan.guard.follow(undefined);
        resolve();
      };
      this.#child.once("exit", () => end());
      this.#child.once("error", end);
    });
    this.#outputClosed = new Promise((resolve) => this.#child.once("close", () => resolve()));
    this.#readOutput();
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The last lines that the server wrote, all of them when it has just ended. */
  async lastLines(): Promise<string> {
    if (!this.#isRunning) await within(OUTPUT_CLOSE_TIMEOUT_MS, this.#outputClosed);
    return this.#lastLines.join("\n");
  }

  /** Lets the application end while the server runs; the exit guard then ends the server. */
  release(): void {
    this.#child.unref();
    if (this.#child.stderr instanceof Socket) this.#child.stderr.unref();
  }

  /** Returns when the server has ended. One that does not is asked ever more firmly. */
  async stop(mode: StopMode): Promise<void> {
    if (mode === "fast" && (await this.#endsWithin(FAST_STOP_TIMEOUT_MS, () => this.#ask("fast")))) return;
    if (await this.#endsWithin(IMMEDIATE_STOP_TIMEOUT_MS, () => this.#ask("immediate"))) return;
    await this.kill();
  }

  async kill(): Promise<void> {
    await this.#endsWithin(KILL_TIMEOUT_MS, () => void this.#child.kill("SIGKILL"));
  }

  async #endsWithin(limitMs: number, request: () => void): Promise<boolean> {
    if (!this.#isRunning) return true;
    // Referenced again, or an application with nothing else to do would end before the server has.
    this.#child.ref();
    request();
    await within(limitMs, this.ended);
    return !this.#isRunning;
  }

  #ask(mode: StopMode): void {
    if (process.platform !== "win32") {
      this.#child.kill(mode === "fast" ? "SIGINT" : "SIGQUIT");
      return;
    }
    // Windows has no signals to send; pg_ctl reaches the server through a pipe of its own.
    const parameters = ["stop", "-W", "-D", this.#plan.dataPath, "-m", mode];
    startProgram(this.#plan.programs, { name: "pg_ctl", parameters }, "ignore").on("error", () => undefined);
  }

  #readOutput(): void {
    if (this.#child.stderr === null) return;
    createInterface({ input: this.#child.stderr }).on("line", (line) => {
      this.#keepLine(line);
      this.#plan.log(line);
    });
  }

  #keepLine(line: string): void {
    this.#lastLines.push(line);
    if (this.#lastLines.length > LINES_KEPT_MAX) this.#lastLines.shift();
  }
}

/** Waits for it, but not longer than this. No timer stays behind. */
async function within(limitMs: number, what: Promise<void>): Promise<void> {
  const timer = new AbortController();
  const late = sleep(limitMs, undefined, { signal: timer.signal }).catch(() => undefined);
  await Promise.race([what, late]);
  timer.abort();
}

const LINES_KEPT_MAX = 40;
const OUTPUT_CLOSE_TIMEOUT_MS = 1_000;
const FAST_STOP_TIMEOUT_MS = 30_000;
const IMMEDIATE_STOP_TIMEOUT_MS = 5_000;
const KILL_TIMEOUT_MS = 5_000;
