import type { ModelDatabase } from "./model-database.js";

/** Statements one at a time: what comes while one is under way goes together in the next. Enqueues and settles are sent so. */
export class Lane {
  readonly #database: ModelDatabase;
  readonly #rowMs: number;
  readonly #rowsMax: number;
  readonly #done: (rows: readonly number[]) => void;
  #waiting: number[] = [];
  #isSending = false;

  constructor(
    database: ModelDatabase,
    how: { readonly rowMs: number; readonly rowsMax: number },
    done: (rows: readonly number[]) => void,
  ) {
    this.#database = database;
    this.#rowMs = how.rowMs;
    this.#rowsMax = how.rowsMax;
    this.#done = done;
  }

  add(row: number): void {
    this.#waiting.push(row);
    if (!this.#isSending) this.#send();
  }

  #send(): void {
    this.#isSending = this.#waiting.length > 0;
    if (!this.#isSending) return;
    const rows = this.#waiting.splice(0, this.#rowsMax);
    this.#database.run({
      execute: () => rows.length * this.#rowMs,
      answered: () => {
        this.#done(rows);
        this.#send();
      },
    });
  }
}
