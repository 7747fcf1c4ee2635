import { exitCodes } from "./exit-codes.js";
import { CliError } from "./failure.js";
import { count } from "./figures.js";
import type { Output } from "./surroundings.js";

/** How much a long command has done: a line on a terminal, and the words of its end when it is interrupted. */
export class ProgressLine {
  readonly #output: Output;
  #isOpen = false;
  #underWay: { readonly what: string; done: number } | null = null;

  constructor(output: Output) {
    this.#output = output;
  }

  begin(what: string): (done: number) => void {
    const own = { what, done: 0 };
    this.#underWay = own;
    return (done) => {
      own.done = done;
      if (this.#output.isTTY !== true) return;
      this.#output.write(`\r${what}: ${count(done)}`);
      this.#isOpen = true;
    };
  }

  /** Takes the line away, before something else is printed. */
  clear(): void {
    if (this.#isOpen) this.#output.write("\r\u001b[K");
    this.#isOpen = false;
  }

  /** What an interruption leaves half done; null when nothing has been begun. */
  cutShort(): CliError | null {
    this.clear();
    if (this.#underWay === null) return null;
    const { what, done } = this.#underWay;
    return new CliError("CLI_INTERRUPTED", exitCodes.interrupted, {
      message: `Interrupted: ${count(done)} ${what} so far. What was under way may be done too.`,
      advice: "The same command may be run again; it goes on with the rest.",
    });
  }
}
