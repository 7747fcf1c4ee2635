import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import type { Ending, HeldJob } from "./held-job.js";
import { type Outcome, release } from "./outcome.js";
import type { QueueSettings } from "./queue-settings.js";
import type { SettleAnswer, Settlement } from "./settlement.js";

export interface DispatchParts {
  readonly clock: Clock;
  readonly events: Events;
  readonly settings: QueueSettings;
  readonly concurrency: number;
  /** Runs one attempt; never rejects. */
  attempt(held: HeldJob): Ending | Promise<Ending>;
  timeoutMsOf(kind: string): number;
  settle(
    settlement: Settlement,
    how: { readonly untilMs: number; readonly isHot: boolean },
    answered: (answer: SettleAnswer | null) => void,
  ): void;
  /** Rows whose lease may have run out wait to be renewed before they start. */
  onStale(): void;
  /** A handler with a time-out has started. */
  onStarted(timeoutAtMs: number): void;
  /** An outcome could not be written: the row may carry our name until its lease runs out. */
  onUnsettled(held: HeldJob): void;
  /** A row has left. */
  onLeft(held: HeldJob): void;
}

/** What becomes of the rows behind one that has left. */
type Next = "goes on" | "was released" | "is unsure";

/** Rows of one key in hand, in order; only the first may run. In a queue without order every row is a line of its own. */
interface Line {
  readonly key: string;
  readonly rows: HeldJob[];
  isHot: boolean;
}

/**
 * Holds what was claimed and starts it: rows of one key one after another, the next only when the settle of the one before has committed; different keys
 * side by side, as many as there are slots. Decides nothing about time or leases beyond not starting what may be lost.
 */
export class Dispatcher {
  readonly #parts: DispatchParts;
  readonly #lines = new Map<string, Line>();
  readonly #held = new Set<HeldJob>();
  readonly #running = new Set<HeldJob>();
  readonly #tokens = new Map<bigint, number>();
  #ready: Line[] = [];
  #stale: Line[] = [];
  #reserved = 0;
  #bytes = 0;
  #ending = 0;
  #isStopped = false;
  #isPumping = false;
  /** Called when the last row has left. */
  onIdle: () => void = () => {};

  constructor(parts: DispatchParts) {
    this.#parts = parts;
  }

  get running(): ReadonlySet<HeldJob> {
    return this.#running;
  }

  get inHand(): ReadonlySet<HeldJob> {
    return this.#held;
  }

  /** Lines that could start at once if there were slots. */
  get readyLines(): number {
    return this.#ready.length;
  }

  get freeSlots(): number {
    return this.#parts.concurrency - this.#running.size;
  }

  /** Slots kept for retries that are free now. */
  get reservedFree(): number {
    return Math.min(this.#reserved, this.freeSlots);
  }

  /** Rows whose handler has ended and whose outcome is being written; the rows behind them want a slot soon. */
  get ending(): number {
    return this.#ending;
  }

  /** About how many bytes the payloads and headers of what is held have as text. */
  get bytes(): number {
    return this.#bytes;
  }

  get tokens(): readonly bigint[] {
    return [...this.#tokens.keys()];
  }

  /** The lines in hand of a bucket, by key. */
  linesIn(bucket: number): readonly string[] {
    const keys: string[] = [];
    for (const line of this.#lines.values()) if (line.rows[0]?.job.bucket === bucket) keys.push(line.key);
    return keys;
  }

  holdsLine(key: string): boolean {
    return this.#lines.has(key);
  }

  /** Its outcomes do not wait for those of others. */
  markHot(key: string): void {
    const line = this.#lines.get(key);
    if (line !== undefined) line.isHot = true;
  }

  /** True when a lease may have run out: then it is not known whose the rows are, not even to a claim of ours. */
  hasOverdue(nowMs: number): boolean {
    for (const held of this.#held) if (nowMs >= held.deadlineMs && held.isRenewable) return true;
    return false;
  }

  hasSuspect(): boolean {
    for (const held of this.#held) if (held.job.crashes >= 2) return true;
    return false;
  }

  /** Keeps slots free of fresh rows until rows with attempts behind them have come. */
  reserve(slots: number): void {
    this.#reserved = Math.min(slots, Math.ceil(this.#parts.concurrency / 2));
  }

  /** Takes rows into its hands and starts none: pump() does. Rows of one key arrive in order. One with attempts behind it goes first: it was claimed for a free slot. */
  hold(rows: readonly HeldJob[]): void {
    const isOrdered = this.#parts.settings.order === "key";
    for (const held of rows) {
      const { id, partitionKey, fenceToken } = held.job;
      const key = isOrdered ? partitionKey : id;
      this.#held.add(held);
      this.#bytes += held.bytes;
      this.#tokens.set(fenceToken, (this.#tokens.get(fenceToken) ?? 0) + 1);
      const line = this.#lines.get(key);
      if (line !== undefined) {
        line.rows.push(held);
        continue;
      }
      const fresh: Line = { key, rows: [held], isHot: false };
      this.#lines.set(key, fresh);
      if (held.job.attempt > 1) this.#ready.unshift(fresh);
      else this.#ready.push(fresh);
    }
  }

  /** Starts what may start. A handler that ends at once comes back here while others are being started; the loop goes on with its slot. */
  pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      this.#startReady();
    } finally {
      this.#isPumping = false;
    }
  }

  #startReady(): void {
    while (!this.#isStopped && this.#ready.length > 0) {
      const [line] = this.#ready;
      const held = line?.rows[0];
      const isRetry = held !== undefined && held.job.attempt > 1;
      if (this.freeSlots <= (isRetry ? 0 : this.#reserved)) return;
      this.#ready.shift();
      if (line === undefined || held === undefined) continue;
      if (held.isLost) this.#dropLost(line);
      else if (this.#parts.clock.monotonicMs() >= held.deadlineMs) {
        this.#stale.push(line);
        this.#parts.onStale();
      } else {
        this.#start(line, held);
      }
    }
  }

  /** After a renewal: what it extended may start, what was lost is dropped. */
  afterRenewal(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    for (const line of [...this.#lines.values()]) {
      const [first] = line.rows;
      if (first?.isLost === true && !this.#running.has(first)) this.#dropLost(line);
    }
    const stale = this.#stale;
    this.#stale = stale.filter((line) => (line.rows[0]?.deadlineMs ?? 0) <= nowMs && line.rows.length > 0);
    this.#ready.push(...stale.filter((line) => (line.rows[0]?.deadlineMs ?? 0) > nowMs));
    this.pump();
  }

  /** From now on. What claims under way bring waits for stop(), too. */
  startNoMore(): void {
    this.#isStopped = true;
  }

  /** Starts nothing more and hands back what was not started, trying so long. */
  async stop(untilMs: number): Promise<void> {
    this.startNoMore();
    this.#ready = [];
    this.#stale = [];
    const waiting: HeldJob[] = [];
    for (const line of this.#lines.values()) {
      const isBusy = line.rows[0] !== undefined && (this.#running.has(line.rows[0]) || line.rows[0].isEnding);
      waiting.push(...line.rows.splice(isBusy ? 1 : 0));
    }
    for (const [key, line] of this.#lines) if (line.rows.length === 0) this.#lines.delete(key);
    for (const row of waiting) row.deadlineMs = Math.min(row.deadlineMs, untilMs);
    await this.#release(waiting, "the worker stops");
  }

  #start(line: Line, held: HeldJob): void {
    const { clock, timeoutMsOf, onStarted } = this.#parts;
    this.#running.add(held);
    held.startedAtMs = clock.monotonicMs();
    held.timeoutAtMs = held.startedAtMs + timeoutMsOf(held.job.kind);
    onStarted(held.timeoutAtMs);
    held.watch(this.#parts.attempt(held), (ending) => this.#ended(line, held, ending));
  }

  #ended(line: Line, held: HeldJob, ending: Ending): void {
    held.endedAtMs = this.#parts.clock.monotonicMs();
    held.timeoutAtMs = null;
    held.giveUpAtMs = null;
    held.isEnding = true;
    this.#ending++;
    this.#running.delete(held);
    if (ending.is !== "outcome") this.#settled(line, held, endsLine(ending));
    else {
      const { outcome } = ending;
      const how = { untilMs: held.deadlineMs, isHot: line.isHot };
      this.#parts.settle({ job: held.job, outcome }, how, (answer) =>
        this.#settled(line, held, this.#nextAfter(held, outcome, answer)),
      );
    }
    this.pump();
  }

  #settled(line: Line, held: HeldJob, next: Next): void {
    this.#ending--;
    this.#leave(held);
    line.rows.shift();
    held.isDone = next === "goes on";
    if (next === "goes on" || line.rows.length === 0) this.#goOn(line, held);
    else void this.#dropRest(line, held, next).then(() => this.#goOn(line, held));
  }

  #goOn(line: Line, held: HeldJob): void {
    if (line.rows.length > 0) {
      if (!this.#isStopped) this.#ready.push(line);
    } else if (this.#lines.get(line.key) === line) this.#lines.delete(line.key);
    this.#parts.onLeft(held);
    this.pump();
  }

  /** What becomes of the rows behind this one. */
  #nextAfter(held: HeldJob, outcome: Outcome, answer: SettleAnswer | null): Next {
    if (answer === null) this.#parts.onUnsettled(held);
    if (answer === null || !answer.held) return "is unsure";
    if (outcome.is === "complete") return "goes on";
    if (answer.status === null) return "is unsure";
    const isParked = this.#parts.settings.onDeadLetter === "park";
    return answer.status === "dead_letter" && !isParked ? "goes on" : "was released";
  }

  /** The rest of a run goes with its first row. Where it is not known to be back in the queue it is given back. */
  async #dropRest(line: Line, first: HeldJob, next: Exclude<Next, "goes on">): Promise<void> {
    const rest = line.rows.filter((row) => row.job.fenceToken === first.job.fenceToken);
    if (rest.length === 0) return;
    for (const row of rest) line.rows.splice(line.rows.indexOf(row), 1);
    if (next === "is unsure") await this.#release(rest, "the row before them was lost");
    else for (const row of rest) this.#leave(row);
  }

  #dropLost(line: Line): void {
    const rest = line.rows.splice(0);
    this.#lines.delete(line.key);
    this.#ready = this.#ready.filter((one) => one !== line);
    this.#stale = this.#stale.filter((one) => one !== line);
    for (const row of rest) if (row.isLost) this.#leave(row);
    void this.#release(
      rest.filter((row) => !row.isLost),
      "the row before them was lost",
    );
  }

  async #release(rows: readonly HeldJob[], why: string): Promise<void> {
    if (rows.length === 0) return;
    for (const row of rows) row.isEnding = true;
    await Promise.all(
      rows.map(
        (row) =>
          new Promise<void>((resolve) => {
            const how = { untilMs: row.deadlineMs, isHot: false };
            this.#parts.settle({ job: row.job, outcome: release }, how, (answer) => {
              if (answer === null) this.#parts.onUnsettled(row);
              this.#leave(row);
              resolve();
            });
          }),
      ),
    );
    this.#parts.events.emit("jobs:released", { queue: this.#parts.settings.name, count: rows.length, why });
  }

  #leave(held: HeldJob): void {
    if (!this.#held.delete(held)) return;
    this.#bytes -= held.bytes;
    const { fenceToken } = held.job;
    const count = (this.#tokens.get(fenceToken) ?? 1) - 1;
    if (count === 0) this.#tokens.delete(fenceToken);
    else this.#tokens.set(fenceToken, count);
    if (this.#held.size === 0) this.onIdle();
  }
}

function endsLine(ending: Ending): Next {
  return ending.is === "settled" ? "goes on" : "is unsure";
}
