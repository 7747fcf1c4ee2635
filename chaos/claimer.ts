import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ActorTask } from "./settings.js";

const restartMs = 1_000;

/** The process that claims by hand, started again whenever it is killed. */
export class Claimer {
  readonly #url: string;
  readonly #folder: string;
  readonly #seed: number;
  readonly journals: string[] = [];
  /** Ended by themselves, with the code they left. */
  readonly crashes: string[] = [];
  onGone: (name: string) => void = () => {};
  #child: ChildProcess | null = null;
  #isKilled = false;
  #isOver = false;

  constructor(parts: { readonly url: string; readonly folder: string; readonly seed: number }) {
    this.#url = parts.url;
    this.#folder = parts.folder;
    this.#seed = parts.seed;
  }

  start(): void {
    const count = this.journals.length + 1;
    const name = `hand#${count}`;
    const journal = join(this.#folder, `hand-${count}.jsonl`);
    this.journals.push(journal);
    const task: ActorTask = { name, url: this.#url, journal, seed: this.#seed + count };
    const child = fork(fileURLToPath(new URL("claimer-process.js", import.meta.url)), [JSON.stringify(task)]);
    this.#isKilled = false;
    this.#child = child;
    child.once("exit", (code) => {
      this.#child = null;
      if (!this.#isKilled && !this.#isOver) this.crashes.push(`${name} ended by itself: ${code}`);
      if (this.#isKilled) this.onGone(name);
      setTimeout(() => {
        if (!this.#isOver) this.start();
      }, restartMs).unref();
    });
  }

  kill(): void {
    if (this.#child === null || this.#isOver) return;
    this.#isKilled = true;
    this.#child.kill("SIGKILL");
  }

  /** Starts none again; the one there is, if any, is for its caller to stop. */
  end(): readonly ChildProcess[] {
    this.#isOver = true;
    return this.#child === null ? [] : [this.#child];
  }
}
