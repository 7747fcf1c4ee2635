import type { Leasehold, Queue, QueueStats } from "../../src/index.js";
import type { Fleet } from "./fleet.js";
import type { Entry, Journal } from "./journal.js";
import type { Member } from "./member.js";
import { PromiseCheck, type Promises } from "./promises.js";
import { queueName } from "./settings.js";
import type { ShopJobs } from "./shop.js";

/** Everything that is shown, at one moment. */
export interface Snapshot {
  readonly elapsedMs: number;
  readonly startedAtMs: number;
  /** Such as "PostgreSQL 18.4, embedded". */
  readonly server: string;
  readonly mode: "working" | "paused" | "stopping";
  readonly workers: readonly { readonly member: Member; readonly buckets: number }[];
  readonly bucketsTotal: number;
  readonly queue: QueueCounts;
  /** For how long the oldest due job has been due. */
  readonly lagMs: number;
  readonly jobsPerSecond: number;
  /** One for each second, newest last. */
  readonly rates: readonly number[];
  readonly retries: number;
  readonly takenOver: number;
  readonly promises: Promises;
  readonly entries: readonly Entry[];
}

type QueueCounts = Omit<QueueStats, "recent">;

const ratesMax = 200;
const smoothSeconds = 3;
const nothing: QueueCounts = {
  scheduled: 0,
  pending: 0,
  processing: 0,
  prefetched: 0,
  deadLetter: 0,
  due: 0,
  retrying: 0,
  expired: 0,
  oldestDueAt: null,
  share: 1,
  source: "primary",
  asOf: null,
};

export interface FiguresParts {
  readonly lh: Leasehold;
  readonly queue: Queue<ShopJobs>;
  readonly fleet: Fleet;
  readonly journal: Journal;
  readonly server: string;
}

/** Gathers the figures. What must be asked of the database is asked in look(), once a second; the rest is at hand. */
export class Figures {
  readonly #parts: FiguresParts;
  readonly #promises: PromiseCheck;
  readonly #startedAtMs = Date.now();
  readonly #rates: number[] = [];
  #owners: readonly (string | null)[] = [];
  #stats: QueueCounts = nothing;
  #lagMs = 0;
  #lookedAtMs = Date.now();
  mode: Snapshot["mode"] = "working";

  constructor(parts: FiguresParts) {
    this.#parts = parts;
    this.#promises = new PromiseCheck(parts.lh, parts.queue);
  }

  get promises(): PromiseCheck {
    return this.#promises;
  }

  bucketsOf(workerId: string): readonly number[] {
    return this.#owners.flatMap((owner, bucket) => (owner === workerId ? [bucket] : []));
  }

  async look(): Promise<void> {
    const { lh, queue } = this.#parts;
    const before = this.#promises.found.checked;
    await this.#promises.look();
    const nowMs = Date.now();
    const seconds = Math.max(0.001, (nowMs - this.#lookedAtMs) / 1_000);
    this.#lookedAtMs = nowMs;
    this.#rates.push((this.#promises.found.checked - before) / seconds);
    if (this.#rates.length > ratesMax) this.#rates.shift();
    const [stats, { owners }] = await Promise.all([queue.stats(), lh.ring(queueName)]);
    this.#stats = stats;
    this.#lagMs = Math.max(0, Date.now() - (stats.oldestDueAt?.getTime() ?? Date.now()));
    this.#owners = owners;
  }

  snapshot(): Snapshot {
    const { fleet, journal, server, queue } = this.#parts;
    const lately = this.#rates.slice(-smoothSeconds);
    return {
      elapsedMs: Date.now() - this.#startedAtMs,
      startedAtMs: this.#startedAtMs,
      server,
      mode: this.mode,
      workers: fleet.members.map((member) => ({ member, buckets: this.bucketsOf(member.id).length })),
      bucketsTotal: queue.settings.buckets,
      queue: this.#stats,
      lagMs: this.#lagMs,
      jobsPerSecond: lately.reduce((sum, rate) => sum + rate, 0) / Math.max(1, lately.length),
      rates: this.#rates,
      retries: fleet.retries,
      takenOver: fleet.takenOver,
      promises: this.#promises.found,
      entries: journal.entries,
    };
  }
}
