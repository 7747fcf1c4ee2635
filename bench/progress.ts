import { nameOf, type PlannedCell } from "./results.js";

const redrawMs = 1_000;

interface Step {
  readonly cell: PlannedCell;
  readonly round: number;
}

/** Says what is running, how long it has taken and about how long it will take. A terminal has a line that moves; a file gets one a step. */
export class Progress {
  readonly #startedAtMs = performance.now();
  readonly #steps: readonly Step[];
  readonly #rounds: number;
  readonly #scale: number;
  /** What a step took last time, in seconds. */
  readonly #taken = new Map<PlannedCell, number>();
  #at = 0;
  #stepAtMs = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    steps: readonly Step[],
    { rounds, scale }: { readonly rounds: number; readonly scale: number },
  ) {
    this.#steps = steps;
    this.#rounds = rounds;
    this.#scale = scale;
  }

  begin(index: number): void {
    this.#at = index;
    this.#stepAtMs = performance.now();
    if (!process.stdout.isTTY) return;
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), redrawMs);
  }

  /** Ends the step with what came out of it. */
  end(outcome: string): void {
    const step = this.#steps[this.#at];
    if (this.#timer !== null) clearInterval(this.#timer);
    if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
    if (step === undefined) return;
    this.#taken.set(step.cell, (performance.now() - this.#stepAtMs) / 1_000);
    this.#at++;
    process.stdout.write(`${this.#times()}  ${this.#title(step)}: ${outcome}\n`);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #draw(): void {
    const step = this.#steps[this.#at];
    if (step === undefined) return;
    const seconds = Math.round((performance.now() - this.#stepAtMs) / 1_000);
    const line = `${this.#times()}  ${this.#title(step)}: running, ${seconds} s`;
    process.stdout.write(`\r\x1b[K${line.slice(0, (process.stdout.columns ?? 120) - 1)}`);
  }

  #title({ cell, round }: Step): string {
    return `round ${round} of ${this.#rounds}  ${cell.workload.id} ${cell.workload.title}, ${nameOf(cell)}`;
  }

  #times(): string {
    const elapsed = (performance.now() - this.#startedAtMs) / 1_000;
    return `${clock(elapsed)} gone, ${clock(this.#left())} left`;
  }

  #left(): number {
    const current = (performance.now() - this.#stepAtMs) / 1_000;
    const ahead = this.#steps.slice(this.#at).map((step) => this.#expected(step.cell));
    const total = ahead.reduce((sum, seconds) => sum + seconds, 0);
    return this.#timer === null ? total : Math.max(0, total - Math.min(current, ahead[0] ?? 0));
  }

  #expected(cell: PlannedCell): number {
    return this.#taken.get(cell) ?? 2 + cell.workload.expectedSeconds * this.#scale;
  }
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return `${String(Math.floor(whole / 60)).padStart(2)}:${String(whole % 60).padStart(2, "0")}`;
}
