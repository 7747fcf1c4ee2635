import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { DeployMessage, DeployTask } from "./deploy-settings.js";

/** A migration waits for locks, but not for ever. */
const startLimitMs = 120_000;
/** More than a drain may take. */
const stopLimitMs = 40_000;

export interface DeployProcess {
  readonly role: DeployTask["role"];
  readonly child: ChildProcess;
  /** How many migrations it ran; null when it was refused. */
  readonly migrations: number | null;
  readonly refusal: string | null;
}

/** The processes of a rolling deploy, and what its producers were promised. */
export class DeployFleet {
  readonly #url: string;
  readonly #jobsPerSecond: number;
  readonly #running = new Set<ChildProcess>();
  /** Key to the highest number that was acknowledged; the numbers below it were, too. */
  readonly acknowledged: Map<string, number> = new Map();
  /** Those that ended by themselves. */
  readonly crashes: string[] = [];

  constructor(url: string, jobsPerSecond: number) {
    this.#url = url;
    this.#jobsPerSecond = jobsPerSecond;
  }

  get total(): number {
    return [...this.acknowledged.values()].reduce((sum, number) => sum + number, 0);
  }

  /** Resolves when the process works, or has been refused; rejects when it has ended, or took too long and was killed. */
  async start(role: DeployTask["role"], name: string, library: string): Promise<DeployProcess> {
    const task: DeployTask = { name, role, url: this.#url, library, jobsPerSecond: this.#jobsPerSecond };
    const file = fileURLToPath(new URL("deploy-process.js", import.meta.url));
    const child = fork(file, [JSON.stringify(task)]);
    this.#running.add(child);
    child.once("exit", (code, signal) => {
      this.#running.delete(child);
      if (code !== 0) this.crashes.push(`${name} ended with ${code ?? signal}`);
    });
    const first = new Promise<DeployProcess>((resolve, reject) => {
      child.once("exit", () => reject(new Error(`${name} ended before it was ready.`)));
      child.on("message", (message: DeployMessage) => {
        if (message.is === "acknowledged") this.acknowledged.set(message.key, message.number);
        else if (message.is === "ready")
          resolve({ role, child, migrations: message.migrations, refusal: null });
        else resolve({ role, child, migrations: null, refusal: `${message.code}: ${message.words}` });
      });
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), startLimitMs);
    return await first.finally(() => clearTimeout(timer));
  }

  /** Workers drain, producers end after the last answer; killed when that takes too long, which counts as a crash. */
  async stop({ role, child, refusal }: DeployProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    // One that was refused ends by itself.
    if (role === "producer") child.send("stop", () => {});
    else if (refusal === null) child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), stopLimitMs);
    await exited;
    clearTimeout(timer);
  }

  kill(): void {
    for (const child of this.#running) child.kill("SIGKILL");
  }
}
