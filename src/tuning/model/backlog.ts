import { Fifo } from "./fifo.js";

export type Row = readonly [line: number, job: number];

/** The pending rows of one worker's buckets, by line: a key, or in a queue without order each row by itself. */
export class Backlog {
  /** Lines whose first row may be claimed, in the order in which they are visited. */
  readonly #free = new Map<number, Fifo<number>>();
  /** Lines with a row that a worker holds. */
  readonly #held = new Map<number, Fifo<number>>();
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  add(line: number, job: number): void {
    this.#rows++;
    const rows = this.#held.get(line) ?? this.#free.get(line);
    const waiting = rows ?? new Fifo<number>();
    waiting.push(job);
    if (rows === undefined) this.#free.set(line, waiting);
  }

  /** Up to `limit` rows, at most `run` of a line; their lines are held until release(). */
  take(limit: number, run: number): Row[] {
    const rows: Row[] = [];
    for (const [line, waiting] of this.#free) {
      if (rows.length >= limit) break;
      const count = Math.min(run, limit - rows.length, waiting.length);
      for (let n = 0; n < count; n++) rows.push([line, waiting.shift() ?? 0]);
      this.#free.delete(line);
      this.#held.set(line, waiting);
    }
    this.#rows -= rows.length;
    return rows;
  }

  /** A worker has done what it held of a line; true when there is more of it. */
  release(line: number): boolean {
    const waiting = this.#held.get(line);
    this.#held.delete(line);
    if (waiting === undefined || waiting.length === 0) return false;
    this.#free.set(line, waiting);
    return true;
  }

  /** A lost worker held these rows of a line: they come first again. */
  giveBack(line: number, jobs: readonly number[]): void {
    const waiting = this.#held.get(line) ?? this.#free.get(line) ?? new Fifo<number>();
    waiting.unshift(jobs);
    this.#rows += jobs.length;
    this.#held.delete(line);
    this.#free.set(line, waiting);
  }

  /** Everything, for other workers. */
  empty(): readonly Row[] {
    const all = [...this.#free, ...this.#held].flatMap(([line, waiting]) => {
      const jobs: Row[] = [];
      while (waiting.length > 0) jobs.push([line, waiting.shift() ?? 0]);
      return jobs;
    });
    this.#free.clear();
    this.#held.clear();
    this.#rows = 0;
    return all;
  }
}
