import type { Size } from "./view.js";

const enter = "\x1b[?1049h\x1b[?25l\x1b[2J";
const leave = "\x1b[?25h\x1b[?1049l";
const home = "\x1b[H";
const eraseLine = "\x1b[K";
const eraseBelow = "\x1b[J";
/** Terminals that know it show what comes between as one picture; others ignore it. */
const beginFrame = "\x1b[?2026h";
const endFrame = "\x1b[?2026l";
const controlC = "\u0003";

export interface TerminalListeners {
  onKey(key: string): void;
  onResize(): void;
}

/** The whole window, in the alternate screen buffer: what was there before comes back, however the process ends. */
export class Terminal {
  readonly #listeners: TerminalListeners;
  #isOpen = false;

  constructor(listeners: TerminalListeners) {
    this.#listeners = listeners;
  }

  static get isAvailable(): boolean {
    return process.stdout.isTTY === true && process.env.TERM !== "dumb";
  }

  get size(): Size {
    const { columns = 80, rows = 24 } = process.stdout;
    return { columns, rows, hasColours: (process.env.NO_COLOR ?? "") === "" };
  }

  open(): void {
    this.#isOpen = true;
    process.stdout.write(enter);
    process.stdout.on("resize", this.#listeners.onResize);
    // A crash writes its trace after this, to the screen that stays.
    process.on("uncaughtExceptionMonitor", this.close);
    process.on("exit", this.close);
    if (process.stdin.isTTY !== true) return;
    process.stdin.setRawMode(true).setEncoding("utf8").on("data", this.#onInput).resume();
  }

  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    const frame = lines.map((line) => `${line}${eraseLine}`).join("\r\n");
    process.stdout.write(`${beginFrame}${home}${frame}${eraseBelow}${endFrame}`);
  }

  readonly close = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.stdout.off("resize", this.#listeners.onResize);
    process.off("uncaughtExceptionMonitor", this.close);
    process.off("exit", this.close);
    process.stdin.off("data", this.#onInput).pause();
    if (process.stdin.isTTY === true) process.stdin.setRawMode(false);
    process.stdout.write(leave);
  };

  readonly #onInput = (text: string): void => {
    for (const key of text) this.#listeners.onKey(key === controlC ? "q" : key.toLowerCase());
  };
}
