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
import { defaults } from "../settings.js";
import type { MemberSettings } from "./member-settings.js";

export interface RecordSeams {
  readonly database: GuardedDatabase;
  readonly bind: Binder;
  readonly clock: Clock;
  readonly events: Events;
}

/** What goes into the row at each beat, for people and dashboards. */
export interface Load {
  readonly version: string;
  readonly running: number;
  readonly inHand: number;
}

export type BeatAnswer = "accepted" | "dead" | "superseded";

/** This process's row in the registry. Every write names the generation it was registered under. */
export class WorkerRecord {
  readonly settings: MemberSettings;
  readonly #seams: RecordSeams;
  readonly #queues = new Set<string>();
  #generation = 0n;
  #isNew = true;
  /** A registration whose answer never came: a higher generation may be our own. */
  #isInDoubt = false;
  /** Writes that concern the generation go one after another: a registration whose answer was lost must not look like somebody else's. */
  readonly #turn = new InTurn();
  hasSession = false;

  constructor(seams: RecordSeams, settings: MemberSettings) {
    this.#seams = seams;
    this.settings = settings;
  }

  get generation(): bigint {
    return this.#generation;
  }

  get queues(): ReadonlySet<string> {
    return this.#queues;
  }

  /** Told to the registry with the next beat, if it was not told before. */
  forget(queue: string): void {
    this.#queues.delete(queue);
  }

  /** Before the first registration. */
  willWorkOn(queue: string): void {
    this.#queues.add(queue);
  }

  /** Enters the registry, or enters it again: the generation rises and the row is alive whatever it was. */
  async register(load: Load, why: string): Promise<void> {
    await this.#turn.run(() => this.#register(load, why));
  }

  async beat(load: Load): Promise<BeatAnswer> {
    return await this.#turn.run(() => this.#beat(load));
  }

  /** False when the row is no longer ours; the next beat finds out why. */
  async changeQueues(change: { readonly add?: string; readonly remove?: string }): Promise<boolean> {
    return await this.#turn.run(() => this.#changeQueues(change));
  }

  async #register(load: Load, why: string): Promise<void> {
    const { database, bind, clock, events } = this.#seams;
    const { id, hostname, pid, region, ttlMs } = this.settings;
    this.#isInDoubt = true;
    const [row] = await database.run(
      this.#timely(
        bind(registerWorker, {
          id,
          hostname,
          pid,
          region,
          ttlMs,
          queues: [...this.#queues],
          hasSession: this.hasSession,
          isNew: this.#isNew,
          metadata: JSON.stringify(load),
          now: clock.databaseNow(),
        }),
      ),
    );
    this.#isInDoubt = false;
    this.#isNew = false;
    this.#generation = BigInt(row?.generation ?? 0);
    const { generation, hasSession } = this;
    events.emit("worker:registered", { workerId: id, generation, hasSession, why });
  }

  async #beat(load: Load): Promise<BeatAnswer> {
    const { database, bind, clock } = this.#seams;
    const [row] = await database.run(
      this.#timely(
        bind(beatWorker, {
          id: this.settings.id,
          generation: this.#generation,
          queues: [...this.#queues],
          hasSession: this.hasSession,
          metadata: JSON.stringify(load),
          now: clock.databaseNow(),
        }),
      ),
    );
    if (row?.accepted === true) return "accepted";
    const stored = BigInt(row?.generation ?? 0);
    return stored > this.#generation && !this.#isInDoubt ? "superseded" : "dead";
  }

  async #changeQueues(change: { readonly add?: string; readonly remove?: string }): Promise<boolean> {
    if (change.add !== undefined) this.#queues.add(change.add);
    if (change.remove !== undefined) this.#queues.delete(change.remove);
    const [row] = await this.#seams.database.run(
      this.#seams.bind(changeWorkerQueues, {
        id: this.settings.id,
        generation: this.#generation,
        queues: [...this.#queues],
        gone: change.remove === undefined ? [] : [change.remove],
      }),
    );
    return row?.accepted === true;
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
    this.#isNew = true;
    await database.run(
      this.#timely(
        bind(deregisterWorker, { id, generation: this.#generation, isClean, now: clock.databaseNow() }),
      ),
    );
  }

  /** A write that takes longer than a good part of the TTL is no sign of life; its loop tries again. */
  #timely<R>(query: Query<R>): Query<R> {
    return { ...query, timeoutMs: Math.ceil(this.settings.ttlMs / 4), triesMax: defaults.workerTriesMax };
  }
}
