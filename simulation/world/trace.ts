import { createHash } from "node:crypto";
import type { Schedule } from "./schedule.js";

/** What happened, line by line: the same for the same seed, whatever the machine. */
export class Trace {
  readonly #schedule: Schedule;
  readonly #lines: string[] = [];
  #statements = 0;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Statements that the server has run. */
  get statements(): number {
    return this.#statements;
  }

  get hash(): string {
    return createHash("sha256").update(this.#lines.join("\n")).digest("hex").slice(0, 16);
  }

  statement(by: string, name: string): void {
    this.#statements++;
    this.say(by, name.replace(/^lh_(.*)_[0-9a-f]{8}/, "$1"));
  }

  say(by: string, what: string): void {
    this.#lines.push(`${this.#schedule.nowMs.toFixed(3).padStart(11)} ${by.padEnd(9)} ${what}`);
  }
}
