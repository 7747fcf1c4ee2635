import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import {
  beatWorker,
  changeWorkerQueues,
  deregisterWorker,
  registerWorker,
  wishWake,
} from "../database/statements.generated.js";
import type { Events } from "../events.js";
import { InTurn } from "../runtime/in-turn.js";
import type { Clock } from "../seams/clock.js";
import type { Query } from "../seams/database.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import { type WorkerLoad, withLoad } from "./load.js";
import type { MemberSettings } from "./member-settings.js";

export interface RecordSeams {
  readonly database: GuardedDatabase;
  readonly bind: Binder;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
}

/** What of a worker's work on a queue always fails, and why. */
export interface Failing {
  readonly what: "claim" | "settle";
  readonly reason: string;
}

export type BeatAnswer = "accepted" | "dead" | "superseded";

const incarnationBytes = 12;

/**
 * This process's row in the registry. Every write names the generation it was registered under. Which process of this id the row stands for says its incarnation: what another
 * process of the id has taken can't be registered again by the one it was taken from.
 */
export class WorkerRecord {
  readonly settings: MemberSettings;
  readonly #seams: RecordSeams;
  readonly #queues = new Set<string>();
  readonly #kinds = new Map<string, readonly string[]>();
  readonly #failing = new Map<string, Failing>();
  #generation = 0n;
  #incarnation = "";
  #isNew = true;
  /** Writes that concern the generation go one after another. */
  readonly #turn = new InTurn();
  hasSession = false;
  /** Whether the registry believes in our session: then it may take us for dead when that breaks. */
  toldSession = false;
  /** Whether the last beat found that the registry takes our session for gone. */
  isSessionFree = false;
  /** Whether the last beat found that an operator asks this process to drain. */
  isDrainAsked = false;
  /** When each of its queues was created, in microseconds, as the last beat that was accepted has found; those that were dropped are missing. */
  createdUs: Readonly<Record<string, string>> = {};

  constructor(seams: RecordSeams, settings: MemberSettings) {
    this.#seams = seams;
    this.settings = settings;
    this.#beginAnew();
  }

  get generation(): bigint {
    return this.#generation;
  }

  /** Which process of its id this is, as its row says. */
  get incarnation(): string {
    return this.#incarnation;
  }

  get queues(): ReadonlySet<string> {
    return this.#queues;
  }

  /** Told to the registry with the next beat, if it was not told before. */
  forget(queue: string): void {
    this.#queues.delete(queue);
    this.#kinds.delete(queue);
    this.#failing.delete(queue);
  }

  /** Told to the registry with the next write. */
  hasHandlersFor(queue: string, kinds: readonly string[]): void {
    this.#kinds.set(queue, kinds);
  }

  /** Before the first registration. */
  willWorkOn(queue: string): void {
    this.#queues.add(queue);
  }

  /** Enters the registry, or enters it again: the generation rises and the row is alive whatever it was. False when it has become another process's row. */
  async register(load: WorkerLoad, why: string): Promise<boolean> {
    return await this.#turn.run(() => this.#register(load, why));
  }

  async beat(load: WorkerLoad): Promise<BeatAnswer> {
    return await this.#turn.run(() => this.#beat(load));
  }

  /** False when the row is no longer ours; the next beat finds out why. */
  async changeQueues(change: { readonly add?: string; readonly remove?: string }): Promise<boolean> {
    return await this.#turn.run(() => this.#changeQueues(change));
  }

  /** Out of the ring of a queue while it fails (null: it does not any more). What could not be told goes with the next beat. */
  async changeFailing(queue: string, failing: Failing | null): Promise<boolean> {
    if (failing === null) this.#failing.delete(queue);
    else this.#failing.set(queue, failing);
    return await this.#turn.run(() => this.#tellQueues(failing === null ? [] : [queue]));
  }

  async #register(load: WorkerLoad, why: string): Promise<boolean> {
    const { database, bind, clock, events } = this.#seams;
    const { id, hostname, pid, region, ttlMs } = this.settings;
    const told = this.hasSession;
    this.toldSession ||= told; // It may be stored though the answer is lost.
    const [row] = await database.run(
      this.#timely(
        bind(registerWorker, {
          id,
          hostname,
          pid,
          region,
          ttlMs,
          ...this.#works(),
          hasSession: told,
          isNew: this.#isNew,
          incarnation: this.#incarnation,
          metadata: withLoad(this.settings.metadata, load),
          why,
          graceMs: defaults.sessionGraceMs,
          now: clock.databaseNow(),
        }),
      ),
    );
    if (row === undefined) return false;
    this.#isNew = false;
    this.toldSession = told;
    this.#generation = BigInt(row.generation);
    const { generation, hasSession } = this;
    events.emit("worker:registered", { workerId: id, generation, hasSession, why });
    return true;
  }

  async #beat(load: WorkerLoad): Promise<BeatAnswer> {
    const { database, bind, clock } = this.#seams;
    const told = this.hasSession;
    const [row] = await database.run(
      this.#timely(
        bind(beatWorker, {
          id: this.settings.id,
          generation: this.#generation,
          ...this.#works(),
          hasSession: told,
          metadata: withLoad(this.settings.metadata, load),
          now: clock.databaseNow(),
        }),
      ),
    );
    this.isSessionFree = told && row?.is_free === true;
    if (row?.accepted === true) {
      this.isDrainAsked = row.is_drain_asked;
      this.createdUs = row.created_us as Record<string, string>;
      this.toldSession &&= told;
      return "accepted";
    }
    const stored = row?.incarnation ?? this.#incarnation;
    return stored === this.#incarnation ? "dead" : "superseded";
  }

  async #changeQueues(change: { readonly add?: string; readonly remove?: string }): Promise<boolean> {
    if (change.add !== undefined) this.#queues.add(change.add);
    if (change.remove !== undefined) this.#queues.delete(change.remove);
    return await this.#tellQueues(change.remove === undefined ? [] : [change.remove]);
  }

  async #tellQueues(gone: readonly string[]): Promise<boolean> {
    const { bind, clock, database } = this.#seams;
    const about = { id: this.settings.id, generation: this.#generation, gone: [...gone] };
    const [row] = await database.run(
      bind(changeWorkerQueues, { ...about, ...this.#works(), now: clock.databaseNow() }),
    );
    return row?.accepted === true;
  }

  /** What it works on, which kinds of it, and what of that fails. */
  #works(): { queues: string[]; kinds: string; failing: string } {
    const text = (map: ReadonlyMap<string, unknown>): string => JSON.stringify(Object.fromEntries(map));
    return { queues: [...this.#queues], kinds: text(this.#kinds), failing: text(this.#failing) };
  }

  /** Asks to be woken for the buckets given; null takes the wish back. */
  async wish(queue: string, bits: string | null): Promise<void> {
    const { id } = this.settings;
    await this.#seams.database.run(
      this.#seams.bind(wishWake, { id, generation: this.#generation, queue, bits }),
    );
  }

  async deregister(isClean: boolean): Promise<void> {
    const { bind, clock, database } = this.#seams;
    const { id } = this.settings;
    this.#queues.clear();
    this.#kinds.clear();
    this.#failing.clear();
    this.#beginAnew();
    await database.run(
      this.#timely(
        bind(deregisterWorker, { id, generation: this.#generation, isClean, now: clock.databaseNow() }),
      ),
    );
  }

  #beginAnew(): void {
    this.#isNew = true;
    this.#incarnation = Buffer.from(this.#seams.random.bytes(incarnationBytes)).toString("hex");
  }

  /** A write that takes longer than a good part of the TTL is no sign of life; its loop tries again. */
  #timely<R>(query: Query<R>): Query<R> {
    return { ...query, timeoutMs: Math.ceil(this.settings.ttlMs / 4), triesMax: defaults.workerTriesMax };
  }
}
