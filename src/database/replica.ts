import { checkServer } from "../checked-server.js";
import { ClosedError, DatabaseRefusedError, ReplicaMismatchError } from "../errors.js";
import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import type { Database, Query } from "../seams/database.js";
import { defaults } from "../settings.js";
import type { Binder } from "./bind.js";
import type { GuardedDatabase } from "./guarded-database.js";
import { type DatedRows, primaryReader, type Reader } from "./reader.js";
import { checkSameSystem, type ServerIdentity } from "./same-system.js";
import {
  readReplayedAt,
  readReplicaLag,
  readServer,
  readServerPlace,
  readSystemId,
  readWalPosition,
} from "./statements.generated.js";

/** What lh.replica() says of the server behind replicaUrl. */
export interface ReplicaStatus {
  /** Reads are answered by it. */
  readonly isUsed: boolean;
  /** How far it is behind the primary; null when it is not used, or does not know. */
  readonly behindMs: number | null;
  /** Why it is not used; null when it is. */
  readonly reason: string | null;
}

export interface ReplicaSeams {
  readonly replica: Database;
  readonly primary: GuardedDatabase;
  readonly clock: Clock;
  readonly events: Events;
  readonly bind: Binder;
}

/**
 * Answers reads from a replica, and from the primary while the replica is away. A call never fails because of the replica.
 *
 * away -> used: a check has reached it, and it is a standby of the primary, or the primary itself.
 * used -> away: a read or a check got no connection or no answer in time, or a check has found another server behind the address.
 *
 * What the server itself refuses, such as a read that is in the way of recovery, is answered by the primary, and the replica stays in use.
 *
 * Reads start a check when the last one is older than replicaCheckMs, and do not wait for it. Each change of state is told once. The primary answers at once what comes while replicaReadsMax
 * reads are under way. Checks and status() have a connection of their own, one after another, so that a full pool is never taken for a lost replica.
 */
export class Replica implements Reader {
  readonly #seams: ReplicaSeams;
  readonly #fallback: Reader;
  /** Null while it is used. */
  #fault: unknown = new Error("it was not reached yet");
  #isLossTold = false;
  #lostAtMs: number;
  #checkAtMs = 0;
  #check: Promise<void> | null = null;
  #reads = 0;
  /** A check is under way that has got no answer for replicaSilenceMs. */
  #isSilent = false;
  /** The end of the last check or status(), of which one runs at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  /** When it was last found to have replayed all that the primary had written. */
  #currentAtMs: number | null = null;
  #primaryIdentity: ServerIdentity | null = null;
  #isClosed = false;

  constructor(seams: ReplicaSeams) {
    this.#seams = seams;
    this.#fallback = primaryReader(seams.primary);
    this.#lostAtMs = seams.clock.monotonicMs();
  }

  /** The first check. Raises ReplicaMismatchError when it has reached something else; a replica that is away is no error. */
  async open(): Promise<void> {
    await this.#look();
    if (this.#fault instanceof ReplicaMismatchError) throw this.#fault;
  }

  async run<R>(query: Query<R>): Promise<readonly R[]> {
    return (await this.#read(() => this.#ask(query))) ?? (await this.#fallback.run(query));
  }

  async runAsOf<R>(query: Query<R>): Promise<DatedRows<R>> {
    const answer = await this.#read(() => this.#askAsOf(query));
    return answer ?? (await this.#fallback.runAsOf(query));
  }

  /** Waits no longer than replicaSilenceMs: a program that watches must not hang with the replica. */
  async status(): Promise<ReplicaStatus> {
    const over = new AbortController();
    const measured = this.#measure();
    const late = this.#seams.clock.sleep(defaults.replicaSilenceMs, over.signal).then(() => null);
    const behindMs = await Promise.race([measured, late]).finally(() => over.abort());
    if (this.#fault !== null)
      return Object.freeze({ isUsed: false, behindMs: null, reason: wordsOf(this.#fault) });
    if (this.#isSilent) {
      const reason = `no answer within ${defaults.replicaSilenceMs} ms`;
      return Object.freeze({ isUsed: false, behindMs: null, reason });
    }
    return Object.freeze({ isUsed: true, behindMs, reason: null });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#fault = new ClosedError("The connection to the replica");
    await this.#seams.replica.close();
  }

  /** Null when it is not known. */
  async #measure(): Promise<number | null> {
    const askedAtMs = this.#seams.clock.monotonicMs();
    const looked = this.#look();
    // Asked before the replica: what is replayed to here has all that was committed when the question came.
    const position = await this.#positionOfPrimary();
    await looked;
    return await this.#inTurn(() => this.#try(() => this.#behind(position, askedAtMs)));
  }

  /** Null also when enough reads are under way: the pool is bounded, and to wait for it may take longer than the primary. */
  async #read<T>(work: () => Promise<T>): Promise<T | null> {
    if (this.#reads >= defaults.replicaReadsMax) return null;
    this.#reads++;
    try {
      return await this.#try(work);
    } finally {
      this.#reads--;
    }
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return await mine;
  }

  /** Null when the replica has not answered. */
  async #try<T>(work: () => Promise<T>): Promise<T | null> {
    if (this.#isClosed) return null;
    if (this.#seams.clock.monotonicMs() >= this.#checkAtMs) void this.#look();
    if (this.#fault !== null || this.#isSilent) return null;
    try {
      return await work();
    } catch (error) {
      this.#lose(error);
      return null;
    }
  }

  /** The time first: the rows of a later snapshot have everything up to it. */
  async #askAsOf<R>(query: Query<R>): Promise<DatedRows<R>> {
    const asked = this.#ask(this.#seams.bind(readReplayedAt, {})).catch(onlyRefused);
    const [{ is_standby: isStandby, replayed_at: replayedAt } = { is_standby: true, replayed_at: null }] =
      await asked;
    const rows = await this.#ask(query);
    return { rows, source: isStandby ? "replica" : "primary", asOf: isStandby ? replayedAt : null };
  }

  /** In a transaction of its own, which the driver makes read-only. */
  async #ask<R>(query: Query<R>): Promise<readonly R[]> {
    return await this.#seams.replica.transaction((tx) => tx.run(query), "ours");
  }

  /**
   * A replica may be on its way to the position, so it is asked again after a short pause. Where it has not come to it, the age of what was replayed last is too much on an idle system, and
   * it had everything when it was last found to be at the position of the primary.
   */
  async #behind(position: string | null, askedAtMs: number): Promise<number | null> {
    const { bind, clock } = this.#seams;
    const query = bind(readReplicaLag, { position });
    let [row] = await this.#ask(query).catch(onlyRefused);
    for (let tries = 1; tries < defaults.replicaLagTriesMax && (row?.behind_ms ?? 0) > 0; tries++) {
      await clock.sleep(defaults.replicaLagPauseMs);
      [row] = await this.#ask(query);
    }
    const ageMs = row?.behind_ms ?? null;
    if (ageMs === 0) this.#currentAtMs = askedAtMs;
    if (ageMs === null || ageMs === 0 || this.#currentAtMs === null) return ageMs;
    return Math.min(ageMs, clock.monotonicMs() - this.#currentAtMs);
  }

  #look(): Promise<void> {
    this.#check ??= this.#lookNow();
    return this.#check;
  }

  /** Reads don't wait for a server that keeps a check waiting. */
  async #lookNow(): Promise<void> {
    const { clock } = this.#seams;
    const over = new AbortController();
    void clock.sleep(defaults.replicaSilenceMs, over.signal).then(() => {
      this.#isSilent = !over.signal.aborted;
    });
    await this.#inTurn(() => this.#checkOnce());
    over.abort();
    this.#isSilent = false;
    this.#check = null;
    this.#checkAtMs = clock.monotonicMs() + defaults.replicaCheckMs;
  }

  async #checkOnce(): Promise<void> {
    try {
      const [server] = await this.#ask(this.#seams.bind(readServer, {}));
      checkServer(server, { isForReads: true });
      const replica = await this.#identify((query) => this.#ask(query));
      // What is no standby has to be the primary as it is now, not as it was before a failover.
      const known = replica.isStandby ? this.#primaryIdentity : null;
      this.#primaryIdentity = known ?? (await this.#identify((query) => this.#seams.primary.run(query)));
      checkSameSystem(replica, this.#primaryIdentity);
      this.#regain();
    } catch (error) {
      this.#lose(error);
    }
  }

  async #identify(run: <R>(query: Query<R>) => Promise<readonly R[]>): Promise<ServerIdentity> {
    const { bind } = this.#seams;
    const [place] = await run(bind(readServerPlace, {}));
    const [system] = await run(bind(readSystemId, {})).catch(onlyRefused);
    return {
      systemId: system?.system_id ?? null,
      databaseId: place?.database_id ?? "",
      started: place?.started ?? "",
      isStandby: place?.is_standby ?? true,
    };
  }

  async #positionOfPrimary(): Promise<string | null> {
    const query = { ...this.#seams.bind(readWalPosition, {}), triesMax: 1 };
    const rows = await this.#seams.primary.run(query).catch(() => []);
    return rows[0]?.position ?? null;
  }

  /** A server that refuses a statement has answered: it is there, and may answer the next. */
  #lose(error: unknown): void {
    if (this.#isClosed || (this.#fault === null && error instanceof DatabaseRefusedError)) return;
    if (this.#fault === null) this.#lostAtMs = this.#seams.clock.monotonicMs();
    this.#fault = error;
    if (this.#isLossTold) return;
    this.#isLossTold = true;
    this.#seams.events.emit("replica:lost", { reason: wordsOf(error) });
  }

  #regain(): void {
    if (this.#fault === null || this.#isClosed) return;
    this.#fault = null;
    if (!this.#isLossTold) return;
    this.#isLossTold = false;
    this.#seams.events.emit("replica:regained", {
      lostMs: this.#seams.clock.monotonicMs() - this.#lostAtMs,
    });
  }
}

/** What a managed server keeps from its users, or does not have, is not known; every other error counts. */
function onlyRefused(error: unknown): readonly never[] {
  if (error instanceof DatabaseRefusedError && hidden.has(error.sqlState)) return [];
  throw error;
}

/** No right, no such feature, no such function. */
const hidden: ReadonlySet<string> = new Set(["42501", "0A000", "42883"]);

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
