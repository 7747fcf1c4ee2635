import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";

export interface Ran {
  readonly exitCode: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command in a process group of its own, as a terminal starts it. */
export class Running {
  readonly #child: ChildProcess;
  readonly ended: Promise<Ran>;
  #stdout = "";
  #stderr = "";

  constructor(words: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
    const [command = "", ...args] = words;
    this.#child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    this.#child.stdout?.setEncoding("utf8").on("data", (part: string) => {
      this.#stdout += part;
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (part: string) => {
      this.#stderr += part;
    });
    this.ended = once(this.#child, "close").then(([code, signal]: (number | string | null)[]) => ({
      exitCode: code ?? signal ?? "",
      stdout: this.#stdout,
      stderr: this.#stderr,
    }));
    onTestFinished(() => this.signal("SIGKILL"));
  }

  get output(): string {
    return `${this.#stdout}${this.#stderr}`;
  }

  /** Reaches every process of the group, as Ctrl-C in a terminal does. */
  signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-(this.#child.pid ?? 0), signal);
    } catch {
      // All of them have ended.
    }
  }

  /** Resolves when the output matches; the test's own limit ends a wait that never does. */
  async printed(pattern: RegExp): Promise<void> {
    const ended = this.ended.then(() => true);
    while (!pattern.test(this.output)) {
      const more = [this.#child.stdout, this.#child.stderr].map((stream) =>
        stream === null ? ended : once(stream, "data").then(() => false),
      );
      const isOver = await Promise.race([...more, ended]);
      if (isOver && !pattern.test(this.output))
        throw new Error(`${pattern} was not printed:\n${this.output}`);
    }
  }
}
