import type { ClaimedJob } from "../../src/index.js";

/**
 * Watches lines from outside, knowing only what was sent and what came back. A row is `held` from the return of its claim until its
 * settle is sent; it is `known` in line from the return of its enqueue (or of a claim that held it) until its settle is sent.
 * - overlap: a claim returns a row of a key of which another claim still holds a row
 * - jump: a claim that was sent when a lower row was known to be in line returns a higher row of that key without it
 * - token: a row comes back under a token that is not higher than the last one of its key
 */
export class LineWatch {
  readonly violations: string[] = [];
  readonly completed: Set<string> = new Set();
  claims: number = 0;
  readonly #held = new Map<string, Map<string, bigint>>();
  readonly #inLine = new Map<string, Map<string, bigint>>();
  readonly #lastToken = new Map<string, bigint>();

  /** The row is committed and in line. */
  enqueued(key: string, id: string, seq: bigint): void {
    of(this.#inLine, key).set(id, seq);
  }

  /** Call right before a claim is sent; the result goes to claimed(). */
  claiming(): Map<string, Map<string, bigint>> {
    return new Map([...this.#inLine].map(([key, rows]) => [key, new Map(rows)]));
  }

  claimed(before: Map<string, Map<string, bigint>>, jobs: readonly ClaimedJob[]): void {
    if (jobs.length > 0) this.claims += 1;
    for (const [key, rows] of byKey(jobs)) {
      const held = of(this.#held, key);
      if (held.size > 0)
        this.violations.push(
          `overlap in ${key}: ${[...held.keys()]} held when ${rows.map((job) => job.id)} came`,
        );
      this.#checkJump(key, before.get(key) ?? new Map(), rows);
      const last = this.#lastToken.get(key) ?? 0n;
      for (const job of rows) {
        if (job.fenceToken <= last)
          this.violations.push(`token of ${key} fell from ${last} to ${job.fenceToken}`);
        held.set(job.id, job.seq);
        of(this.#inLine, key).set(job.id, job.seq);
      }
      this.#lastToken.set(key, rows[0]?.fenceToken ?? last);
    }
  }

  /** Call right before a settle is sent, or when a held row is abandoned. `isDone`: it leaves the line. */
  settling(job: ClaimedJob, isDone: boolean): void {
    of(this.#held, job.partitionKey).delete(job.id);
    if (isDone) of(this.#inLine, job.partitionKey).delete(job.id);
  }

  /** The row left the line in some other way: a dead letter, a discard. */
  left(key: string, id: string): void {
    of(this.#inLine, key).delete(id);
  }

  #checkJump(key: string, before: Map<string, bigint>, rows: readonly ClaimedJob[]): void {
    const returned = new Set(rows.map((job) => job.id));
    let highest = 0n;
    for (const job of rows) if (job.seq > highest) highest = job.seq;
    for (const [id, seq] of before) {
      if (seq < highest && !returned.has(id) && of(this.#inLine, key).get(id) === seq) {
        this.violations.push(`jump in ${key}: row ${id} at ${seq} was passed by a claim up to ${highest}`);
      }
    }
  }
}

function of<V>(map: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const found = map.get(key) ?? new Map<string, V>();
  map.set(key, found);
  return found;
}

function byKey(jobs: readonly ClaimedJob[]): Map<string, ClaimedJob[]> {
  const groups = new Map<string, ClaimedJob[]>();
  for (const job of jobs) groups.set(job.partitionKey, [...(groups.get(job.partitionKey) ?? []), job]);
  return groups;
}
