import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { SeedAnswer, SeedTask } from "./seed-process.js";

/** Only a seed that hangs takes this long: 30 virtual minutes of tenants take about 5 s. */
const answerLimitMs = 3_600_000;

/** A child process that runs seeds on a database of its own. An abort kills it. */
export class SeedWorker {
  readonly #child: ChildProcess;
  readonly #isReady: Promise<unknown>;
  readonly #ended: Promise<string>;
  readonly #signal: AbortSignal;
  readonly #kill = (): void => void this.#child.kill("SIGKILL");

  constructor(database: string, what: "queues" | "tenants", signal: AbortSignal) {
    // With --json nothing but the report may be printed on stdout.
    this.#child = fork(fileURLToPath(new URL("seed-process.js", import.meta.url)), [database, what], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#isReady = once(this.#child, "message");
    this.#ended = once(this.#child, "exit").then(([code, by]: unknown[]) => String(code ?? by));
    this.#signal = signal;
    signal.addEventListener("abort", this.#kill);
  }

  /** Null when the run was aborted meanwhile. */
  async run(task: SeedTask): Promise<SeedAnswer | null> {
    const late = setTimeout(this.#kill, answerLimitMs);
    try {
      await Promise.race([this.#isReady, this.#ended]);
      const answered = once(this.#child, "message").then(([said]: unknown[]) => said as SeedAnswer);
      // A process that has ended can't receive it; its end is the answer then.
      this.#child.send(task, () => {});
      const answer = await Promise.race([answered, this.#ended]);
      if (this.#signal.aborted) return null;
      if (typeof answer === "string")
        throw new Error(`The process that ran seed ${task.seed} ended with ${answer}.`);
      return answer;
    } finally {
      clearTimeout(late);
    }
  }

  /** Ends the process and waits until it has ended. */
  async end(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#kill);
    this.#kill();
    await this.#ended;
  }
}
