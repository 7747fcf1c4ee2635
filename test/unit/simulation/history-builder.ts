import { violationsOf } from "../../../simulation/checkers/all.js";
import type { Entry, RowState, Status } from "../../../simulation/entries.js";
import type { History, HistorySettings } from "../../../simulation/history.js";

const settings: HistorySettings = {
  order: "key",
  onDeadLetter: "continue",
  keepsArchive: true,
  buckets: 2,
  maxCrashes: 2,
  ownedWithinMs: 1_000,
  raceMs: 0,
  lateClaimsMax: 0,
};

const blank: RowState = {
  status: "pending",
  isFinished: false,
  worker: null,
  token: 0n,
  attempts: 0,
  crashes: 0,
  maxAttempts: 3,
  leaseExpiresAtMs: null,
  availableAtMs: 0,
};

/** Writes histories: each verb is what happens in a good one, and takes the place of a wrong one in a broken one. */
export class HistoryBuilder {
  readonly entries: Entry[] = [];
  readonly #rows = new Map<string, { key: string; seq: bigint; state: RowState }>();
  readonly #reserved = new Map<string, bigint>();
  #seq = 0n;
  atMs = 0;

  history(more: Partial<HistorySettings> = {}): History {
    return { settings: { ...settings, ...more }, entries: this.entries };
  }

  tick(ms = 1): this {
    this.atMs += ms;
    return this;
  }

  /** An enqueue that is sent, stored and acknowledged. */
  enqueue(id: string, key = "k", to: Partial<RowState> = {}): this {
    this.add({ is: "sent", atMs: this.tick().atMs, id, key });
    this.insert(id, key, to);
    return this.add({ is: "acknowledged", atMs: this.atMs, id, key });
  }

  /** Its place is drawn now; it is inserted, which here is its commit, later. */
  reserve(id: string): this {
    this.#reserved.set(id, ++this.#seq);
    return this;
  }

  insert(id: string, key = "k", to: Partial<RowState> = {}, idempotencyKey: string | null = null): this {
    const seq = this.#reserved.get(id) ?? ++this.#seq;
    const state = { ...blank, ...to };
    this.#rows.set(id, { key, seq, state });
    return this.add({
      is: "moved",
      atMs: this.tick().atMs,
      by: "p#1",
      id,
      key,
      seq,
      idempotencyKey,
      from: null,
      to: state,
    });
  }

  /** Any change of a row; null takes it out of the table. */
  move(id: string, by: string, change: Partial<RowState> | null): this {
    const row = this.#rows.get(id);
    if (row === undefined) throw new Error(`There is no row ${id}.`);
    const { key, seq, state: from } = row;
    const to = change === null ? null : { ...from, ...change };
    if (to === null) this.#rows.delete(id);
    else row.state = to;
    return this.add({
      is: "moved",
      atMs: this.tick().atMs,
      by,
      id,
      key,
      seq,
      idempotencyKey: null,
      from,
      to,
    });
  }

  claim(id: string, process: string, token: bigint, leaseMs = 100): this {
    const attempts = (this.#rows.get(id)?.state.attempts ?? 0) + 1;
    return this.move(id, process, {
      status: "processing",
      worker: process.split("#")[0] ?? process,
      token,
      attempts,
      leaseExpiresAtMs: this.atMs + leaseMs,
    });
  }

  start(id: string, process: string, token: bigint): this {
    return this.#handled("started", { id, process, token });
  }

  end(id: string, process: string, token: bigint): this {
    return this.#handled("ended", { id, process, token });
  }

  /** Leaves for the archive. */
  complete(id: string, process: string): this {
    const { token, attempts } = this.#rows.get(id)?.state ?? blank;
    this.move(id, process, null);
    return this.add({ is: "archived", atMs: this.atMs, id, status: "completed", token, attempts });
  }

  giveBack(id: string, by: string, status: Status = "pending"): this {
    return this.move(id, by, { status, worker: null, leaseExpiresAtMs: null });
  }

  fault(process: string, state: "hit" | "ok" | "gone", what = "frozen"): this {
    return this.add({ is: "fault", atMs: this.tick().atMs, process, what, state });
  }

  effect(id: string, token: bigint, how: "once" | "fenced" = "once", key = "k"): this {
    return this.add({ is: "effect", atMs: this.tick().atMs, how, id, key, token });
  }

  owns(process: string, ...buckets: number[]): this {
    return this.add({ is: "owned", atMs: this.tick().atMs, process, buckets });
  }

  marked(worker: string, status: "alive" | "dead"): this {
    return this.add({ is: "registered", atMs: this.tick().atMs, worker, status, generation: 1n });
  }

  /** Its handler was called and ended. */
  ran(id: string, process: string, token: bigint): this {
    return this.start(id, process, token).end(id, process, token);
  }

  /** Claimed, handled and completed. */
  work(id: string, process: string, token: bigint): this {
    return this.claim(id, process, token).ran(id, process, token).complete(id, process);
  }

  add(entry: Entry): this {
    this.entries.push(entry);
    return this;
  }

  #handled(
    is: "started" | "ended",
    about: { readonly id: string; readonly process: string; readonly token: bigint },
  ): this {
    const key = this.#rows.get(about.id)?.key ?? "k";
    return this.add({ is, atMs: this.tick().atMs, key, ...about });
  }
}

/** The checkers that object. */
export function objections(
  build: (h: HistoryBuilder) => unknown,
  more: Partial<HistorySettings> = {},
): string[] {
  const h = new HistoryBuilder();
  h.owns("a#1", 0, 1);
  build(h);
  return [...new Set(violationsOf(h.history(more)).map((violation) => violation.checker))].sort();
}
