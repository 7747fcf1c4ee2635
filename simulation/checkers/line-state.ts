import type { Move, RowState } from "../entries.js";

/** A row that is in the queue's table now, as far as the history was read. */
export interface Standing {
  readonly id: string;
  readonly key: string;
  /** Another one when it is promoted or redriven: it goes to the end of its line. */
  seq: bigint;
  state: RowState;
}

/** The queue's table, kept up to date by the moves that are read one after another. */
export class LineState {
  readonly #rows = new Map<string, Standing>();
  readonly #byKey = new Map<string, Map<string, Standing>>();

  row(id: string): Standing | undefined {
    return this.#rows.get(id);
  }

  ofKey(key: string): Iterable<Standing> {
    return this.#byKey.get(key)?.values() ?? [];
  }

  all(): Iterable<Standing> {
    return this.#rows.values();
  }

  apply({ id, key, seq, to }: Move): void {
    if (to === null) {
      this.#rows.delete(id);
      this.#byKey.get(key)?.delete(id);
      return;
    }
    const known = this.#rows.get(id);
    if (known !== undefined) {
      known.state = to;
      known.seq = seq;
      return;
    }
    const standing: Standing = { id, key, seq, state: to };
    this.#rows.set(id, standing);
    const line = this.#byKey.get(key) ?? new Map<string, Standing>();
    line.set(id, standing);
    this.#byKey.set(key, line);
  }
}

/** True for rows that hold up those behind them in their key. */
export function isInLine(state: RowState): boolean {
  return state.status !== "scheduled" && !state.isFinished;
}

/** A claim: the row goes into a worker's hands. */
export function isClaim({ from, to }: Move): boolean {
  return to?.status === "processing" && from?.token !== to.token;
}
