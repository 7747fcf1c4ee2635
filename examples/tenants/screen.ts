const lineEveryMs = 2_000;
const drawEveryMs = 200;
const erasedBelow = "\x1b[J";

export interface Views {
  /** For a terminal, drawn again and again in its place. */
  table(): readonly string[];
  /** For logs and pipes, now and then. */
  line(): string;
}

/** Lines that stay, and below them what changes; elsewhere than in a terminal only lines. */
export class Screen {
  readonly #isSilent: boolean;
  readonly #isTerminal = process.stdout.isTTY === true && process.env.TERM !== "dumb";
  #views: Views | null = null;
  #drawn = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(isSilent: boolean) {
    this.#isSilent = isSilent;
  }

  show(views: Views): void {
    if (this.#isSilent) return;
    this.#views = views;
    this.#timer = setInterval(() => this.#draw(), this.#isTerminal ? drawEveryMs : lineEveryMs);
  }

  say(line: string): void {
    if (this.#isSilent) return;
    process.stdout.write(`${this.#erased()}${line}\n`);
    if (this.#isTerminal) this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    if (!this.#isSilent) process.stdout.write(this.#erased());
    this.#views = null;
  }

  #draw(): void {
    if (this.#views === null) return;
    if (!this.#isTerminal) {
      process.stdout.write(`${this.#views.line()}\n`);
      return;
    }
    const { columns, rows } = process.stdout;
    const lines = this.#views.table().slice(0, (rows || 24) - 1); // A terminal that does not know its size says 0.
    const text = lines.map((line) => `${line.slice(0, columns || 80)}\n`).join("");
    process.stdout.write(`${this.#erased()}${text}`);
    this.#drawn = lines.length;
  }

  /** What takes back the lines that change. */
  #erased(): string {
    const up = this.#drawn > 0 ? `\x1b[${this.#drawn}A${erasedBelow}` : "";
    this.#drawn = 0;
    return up;
  }
}
