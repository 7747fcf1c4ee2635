import { defaults } from "../../settings.js";
import { costs } from "../costs.js";
import type { TuningSettings } from "../tuning-settings.js";
import { Backlog, type Row } from "./backlog.js";
import type { Dice } from "./dice.js";
import { Fifo } from "./fifo.js";
import { Lane } from "./lane.js";
import type { ModelDatabase } from "./model-database.js";
import type { Timeline } from "./timeline.js";

export interface WorkerParts {
  readonly timeline: Timeline;
  readonly database: ModelDatabase;
  readonly dice: Dice;
  readonly settings: TuningSettings;
  readonly order: "key" | "none";
  /** Database time of a claimed, and of a settled row; time of the process for a job. */
  readonly claimRowMs: number;
  readonly settleRowMs: number;
  readonly nodeMs: number;
  readonly meanMs: number;
  readonly hasSession: boolean;
  /** Buckets that it owns. */
  readonly buckets: number;
  /** Called when a handler starts; says how long it takes. */
  started(job: number): number;
}

/** More notifications than this in `busyMs` make a worker poll instead, as work/wake-wish.ts does. */
const wakesMax = 50;
const notifyMs = 0.5;

/**
 * A worker as work/claim-pass.ts, claim-ahead.ts and dispatch.ts have it: one claim at a time for what it has room for and a quarter of a second ahead, rows of a
 * line one after the other, each after the settle of the one before, and between claims a poll or a wait to be notified.
 */
export class ModelWorker {
  readonly backlog: Backlog = new Backlog();
  readonly #parts: WorkerParts;
  readonly #lane: Lane;
  /** For lines that bring one full run after another: their outcomes do not wait for those of others. */
  readonly #hotLane: Lane;
  readonly #hotLines = new Set<number>();
  /** Held rows by line; the first of a line is running or next. */
  readonly #lines = new Map<number, Fifo<number>>();
  readonly #lineOf = new Map<number, number>();
  readonly #ready = new Fifo<number>();
  /** Taken by a claim that is not answered yet. */
  #coming: Row[] = [];
  #running = 0;
  #nodeFreeAtMs = 0;
  #isClaiming = false;
  #isWoken = false;
  #isMore = false;
  #isSubscribed = false;
  #moreSinceMs: number | null = null;
  #looks = 0;
  #wakes: number[] = [];
  #quietUntilMs = 0;
  #quietMs: number = defaults.wakeQuietMs;
  /** Tells the newest poll from those that a claim made needless. */
  #poll = 0;
  isAlive = true;
  #handlerMs = 0;
  /** When each job began whose handler runs. */
  readonly #handledSinceMs = new Map<number, number>();
  nodeMs = 0;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    const how = { rowMs: parts.settleRowMs, rowsMax: defaults.settleRowsMax };
    this.#lane = new Lane(parts.database, how, (jobs) => this.#settled(jobs));
    this.#hotLane = new Lane(parts.database, how, (jobs) => this.#settled(jobs));
  }

  start(): void {
    this.#claim(this.#parts.buckets);
  }

  /** A row has become visible in one of its buckets. */
  arrived(line: number, job: number): void {
    this.backlog.add(line, job);
    if (!this.#isSubscribed || !this.isAlive) return;
    const { timeline } = this.#parts;
    this.#wakes = this.#wakes.filter((atMs) => atMs > timeline.nowMs - defaults.busyMs);
    this.#wakes.push(timeline.nowMs);
    if (this.#wakes.length > wakesMax) this.#calmDown();
    timeline.at(timeline.nowMs + notifyMs, () => this.look());
  }

  /** There is reason to claim now. */
  look(): void {
    if (!this.isAlive) return;
    if (this.#isClaiming) this.#isWoken = true;
    else this.#claim(1);
  }

  /** For how long its handlers have run, also those that still do. */
  get handlerMs(): number {
    let sum = this.#handlerMs;
    for (const sinceMs of this.#handledSinceMs.values()) sum += this.#parts.timeline.nowMs - sinceMs;
    return sum;
  }

  /** It is gone: what it holds, by line. */
  crash(): readonly (readonly [line: number, jobs: readonly number[]])[] {
    this.#handlerMs = this.handlerMs;
    this.#handledSinceMs.clear();
    this.isAlive = false;
    this.#hold();
    return [...this.#lines].map(([line, jobs]) => {
      const rest: number[] = [];
      while (jobs.length > 0) rest.push(jobs.shift() ?? 0);
      return [line, rest] as const;
    });
  }

  get #ahead(): number {
    const { settings, meanMs } = this.#parts;
    const inTime = Math.ceil((settings.concurrency * defaults.claimAheadMs) / meanMs);
    return Math.min(defaults.claimRowsMax, settings.claimBatch, inTime);
  }

  /** Rows of one line that a claim takes at most. */
  get #run(): number {
    if (this.#parts.order === "none") return 1;
    return Math.min(defaults.runRows, Math.ceil(defaults.claimAheadMs / this.#parts.meanMs));
  }

  get #freeSlots(): number {
    return this.#parts.settings.concurrency - this.#running;
  }

  get #hasRoom(): boolean {
    return this.#freeSlots > this.#ready.length || this.#ready.length <= this.#ahead / 2;
  }

  #claim(buckets: number): void {
    const { database, order, settings, claimRowMs } = this.#parts;
    this.#poll++;
    const wanted = this.#freeSlots + this.#ahead - this.#ready.length;
    const limit = this.#hasRoom ? Math.min(wanted, settings.claimBatch) : 0;
    if (limit <= 0) {
      this.#isMore = true;
      return;
    }
    this.#isClaiming = true;
    this.#isWoken = false;
    const span = Math.max(defaults.spanBucketsMin, Math.ceil(limit / defaults.spanRowsPerBucket));
    const looks = this.#isMore ? Math.min(buckets, span) : buckets;
    database.run({
      execute: () => {
        this.#coming = this.isAlive ? this.backlog.take(limit, this.#run) : [];
        return this.#coming.length * claimRowMs + (looks * costs.bucketLookUs[order]) / 1_000;
      },
      answered: () => {
        if (this.isAlive) this.#claimed(limit);
      },
    });
  }

  /** What a claim has brought. */
  #hold(): void {
    for (const [line, job] of this.#coming.splice(0)) {
      this.#lineOf.set(job, line);
      const held = this.#lines.get(line) ?? new Fifo<number>();
      if (held.length === 0) this.#ready.push(line);
      held.push(job);
      this.#lines.set(line, held);
      if (held.length >= this.#run && this.#run > 1) this.#hotLines.add(line);
    }
  }

  #claimed(limit: number): void {
    const { timeline } = this.#parts;
    const found = this.#coming.length;
    const isFilled = found >= limit;
    this.#hold();
    this.#isClaiming = false;
    this.#isMore = isFilled;
    this.#moreSinceMs = isFilled ? (this.#moreSinceMs ?? timeline.nowMs) : null;
    if (this.#moreSinceMs !== null && timeline.nowMs - this.#moreSinceMs >= defaults.busyMs)
      this.#isSubscribed = false;
    this.#pump();
    if (this.#isWoken) this.#claim(1);
    else if (isFilled && this.#hasRoom) this.#claim(this.#parts.buckets);
    else this.#sleep(found === 0);
  }

  #sleep(isEmpty: boolean): void {
    const { timeline, settings, hasSession, dice, buckets } = this.#parts;
    if (isEmpty && hasSession && !this.#isSubscribed && timeline.nowMs >= this.#quietUntilMs) {
      this.#isSubscribed = true;
      this.#looks = 0;
    }
    const isIdle = hasSession ? this.#isSubscribed && !this.#isMore : isEmpty && this.#lines.size === 0;
    const pollMs =
      (isIdle ? settings.pollIdleMs : settings.pollActiveMs) * (1 - defaults.pollJitter * dice.fraction());
    const waitMs = this.#isSubscribed
      ? Math.min(pollMs, defaults.lookAgainMs[this.#looks++] ?? pollMs)
      : pollMs;
    const poll = ++this.#poll;
    timeline.at(timeline.nowMs + Math.max(1, waitMs), () => {
      if (poll === this.#poll && this.isAlive && !this.#isClaiming) this.#claim(buckets);
    });
  }

  #calmDown(): void {
    const { nowMs } = this.#parts.timeline;
    const isAgain = nowMs - this.#quietUntilMs < defaults.wakeQuietMs;
    this.#quietMs = isAgain ? Math.min(this.#quietMs * 2, defaults.wakeQuietMsMax) : defaults.wakeQuietMs;
    this.#quietUntilMs = nowMs + this.#quietMs;
    this.#isSubscribed = false;
    this.#wakes = [];
  }

  /** Starts what may start; the process has one thread for all that is not the handler's own waiting. */
  #pump(): void {
    const { timeline, nodeMs, settings } = this.#parts;
    while (this.#running < settings.concurrency && this.#ready.length > 0) {
      const line = this.#ready.shift() ?? 0;
      this.#running++;
      this.#nodeFreeAtMs = Math.max(timeline.nowMs, this.#nodeFreeAtMs) + nodeMs;
      this.nodeMs += nodeMs;
      timeline.at(this.#nodeFreeAtMs, () => this.#handle(line));
    }
  }

  #handle(line: number): void {
    const { timeline } = this.#parts;
    const job = this.#lines.get(line)?.first;
    if (job === undefined || !this.isAlive) return;
    const tookMs = this.#parts.started(job);
    this.#handledSinceMs.set(job, timeline.nowMs);
    timeline.at(timeline.nowMs + tookMs, () => {
      if (!this.isAlive) return;
      this.#handledSinceMs.delete(job);
      this.#handlerMs += tookMs;
      this.#running--;
      (this.#hotLines.has(line) ? this.#hotLane : this.#lane).add(job);
      this.#pump();
    });
  }

  #settled(jobs: readonly number[]): void {
    if (!this.isAlive) return;
    let isMoreOfLine = false;
    for (const job of jobs) {
      const line = this.#lineOf.get(job) ?? 0;
      const held = this.#lines.get(line);
      this.#lineOf.delete(job);
      held?.shift();
      if (held !== undefined && held.length > 0) this.#ready.push(line);
      else {
        this.#lines.delete(line);
        const isMore = this.backlog.release(line);
        if (!isMore) this.#hotLines.delete(line);
        isMoreOfLine ||= isMore;
      }
    }
    this.#pump();
    if (this.#isClaiming) this.#isWoken ||= isMoreOfLine;
    else if (isMoreOfLine || (this.#isMore && this.#hasRoom)) this.#claim(1);
  }
}
