import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import {
  endSession,
  findChannels,
  holdSessionLock,
  notifyChannel,
} from "../database/statements.generated.js";
import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import type { Query } from "../seams/database.js";
import type { Session, Sessions } from "../seams/session.js";
import { defaults } from "../settings.js";

export interface DirectSessionSeams {
  readonly database: GuardedDatabase;
  readonly bind: Binder;
  readonly clock: Clock;
  readonly events: Events;
  readonly sessions: Sessions;
}

export interface DirectSessionListener {
  /** Membership changed; or, with the name of what somebody takes part in, that part of it did. */
  onRing(payload: string): void;
  /** A queue has rows: `queue:bucket,bucket`, or `queue:` for any bucket. */
  onWake(payload: string): void;
  onLost(): void;
}

/**
 * Keeps one session open: it listens, and it holds the lock by which others see that this process lives. `closed` becomes `open` when it has heard a
 * notification of its own, and `closed` again when the connection breaks. It is `unavailable` for good when a pooler stands in between: what was
 * listened to or locked there would stay behind on a connection that belongs to everybody.
 */
export class DirectSession {
  readonly #seams: DirectSessionSeams;
  readonly #workerId: string;
  readonly #listener: DirectSessionListener;
  #session: Session | null = null;
  #state: "closed" | "open" | "unavailable" = "closed";
  #isLocked = false;
  #lockedAtMs = Number.NEGATIVE_INFINITY;
  #opened = 0;
  #earlier: { readonly pid: number; readonly startedAt: Date } | null = null;
  #heard: ((payload: string) => void) | null = null;

  constructor(seams: DirectSessionSeams, workerId: string, listener: DirectSessionListener) {
    this.#seams = seams;
    this.#workerId = workerId;
    this.#listener = listener;
  }

  get state(): "closed" | "open" | "unavailable" {
    return this.#state;
  }

  get isLocked(): boolean {
    return this.#isLocked;
  }

  /** When its lock was taken, by the monotonic clock. */
  get lockedAtMs(): number {
    return this.#lockedAtMs;
  }

  /** How often one was opened: who was elected on an earlier one is not elected any more. */
  get opened(): number {
    return this.#opened;
  }

  /** Runs a query on the open session. No answer in time ends it. */
  async ask<R>(query: Query<R>): Promise<readonly R[]> {
    return this.#session === null ? [] : await this.#session.run(query);
  }

  /** Opens a session when there is none, and takes its lock. True when a new one was opened: what was notified before it is lost. */
  async open(): Promise<boolean> {
    if (this.#state !== "closed") return false;
    await this.#endEarlier();
    let session: Session | null = null;
    session = await this.#seams.sessions.open({
      onNotice: (channel, payload) => this.#onNotice(channel, payload),
      onLost: (reason) => this.#onLost(session, reason),
    });
    this.#session = session;
    try {
      if (!(await this.#canListen(session))) return false;
      if (this.#session !== session) throw new Error("The session broke while it was opened.");
      this.#state = "open";
      this.#opened++;
      if (!(await this.lock()))
        this.#seams.events.emit("session:opened", { workerId: this.#workerId, isLocked: false });
    } catch (error) {
      await this.close();
      throw error;
    }
    return true;
  }

  /** Tries to take the lock of this worker; an earlier process of its id, or the watcher's look, may have it for a moment. */
  async lock(): Promise<boolean> {
    const { bind, clock, events } = this.#seams;
    for (let tries = 0; !this.#isLocked && tries < defaults.sessionLockTriesMax; tries++) {
      if (tries > 0) await clock.sleep(defaults.sessionLockWaitMs);
      const [row] = await this.ask(bind(holdSessionLock, { id: this.#workerId }));
      if (this.#state !== "open") return false;
      this.#isLocked = row?.held === true;
    }
    if (this.#isLocked) {
      this.#lockedAtMs = clock.monotonicMs();
      events.emit("session:opened", { workerId: this.#workerId, isLocked: true });
    }
    return this.#isLocked;
  }

  /** Asks the session for anything. No answer in time ends it. */
  async probe(): Promise<void> {
    await this.ask(this.#seams.bind(findChannels, { id: this.#workerId })).catch(() => {});
  }

  /** True when it holds its lock and has answered in time. */
  async answersWithin(limitMs: number): Promise<boolean> {
    if (!this.#isLocked) return false;
    const { opened } = this;
    const patience = new AbortController();
    await Promise.race([
      this.probe().finally(() => patience.abort()),
      this.#seams.clock.sleep(limitMs, patience.signal),
    ]);
    return patience.signal.aborted && this.#isLocked && this.opened === opened;
  }

  /** Gives up a session of which the server's side is gone. False when there was none. */
  drop(reason: string): boolean {
    const session = this.#session;
    if (session === null || this.#state !== "open") return false;
    this.#forget();
    void session.close().catch(() => {});
    this.#seams.events.emit("session:lost", { workerId: this.#workerId, reason });
    return true;
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#forget();
    await session?.close();
  }

  /** A session that broke on our side only may keep its locks on the server's. */
  async #endEarlier(): Promise<void> {
    if (this.#earlier === null) return;
    const { bind, database } = this.#seams;
    await database.run({ ...bind(endSession, this.#earlier), triesMax: 1 });
    this.#earlier = null;
  }

  /** Listens, and asks for a notification of its own by way of another connection. */
  async #canListen(session: Session): Promise<boolean> {
    const { bind, clock, database } = this.#seams;
    const [channels] = await session.run(bind(findChannels, { id: this.#workerId }));
    if (channels === undefined) throw new Error("The server gave no channels.");
    if (session.announcedPid !== channels.pid) return await this.#giveUp();
    this.#earlier = { pid: channels.pid, startedAt: channels.started_at };
    await session.listen(channels.ring);
    await session.listen(channels.own);
    const payload = `self-test ${this.#opened} ${clock.monotonicMs()}`;
    const patience = new AbortController();
    let wasHeard = false;
    this.#heard = (heard) => {
      if (heard !== payload) return;
      wasHeard = true;
      patience.abort();
    };
    await database.run(bind(notifyChannel, { channel: channels.own, payload }));
    await clock.sleep(defaults.sessionSelfTestMs, patience.signal);
    this.#heard = null;
    if (!wasHeard) throw new Error("A notification to itself did not arrive on the session.");
    return true;
  }

  /** The process that answers is not the one that was announced: there is a pooler, and no telling which mode it is in. */
  async #giveUp(): Promise<false> {
    await this.close();
    this.#state = "unavailable";
    const reason =
      "there is a pooler in between; give directUrl, or workers only poll and a crash is noticed by TTL";
    this.#seams.events.emit("wake:unavailable", { workerId: this.#workerId, reason });
    return false;
  }

  #onNotice(channel: string, payload: string): void {
    if (channel.endsWith("_ring")) this.#listener.onRing(payload);
    else if (payload.startsWith("self-test ")) this.#heard?.(payload);
    else this.#listener.onWake(payload);
  }

  #onLost(session: Session | null, reason: string): void {
    if (session === null || this.#session !== session) return;
    this.#forget();
    this.#seams.events.emit("session:lost", { workerId: this.#workerId, reason });
    this.#listener.onLost();
  }

  #forget(): void {
    this.#session = null;
    this.#isLocked = false;
    if (this.#state === "open") this.#state = "closed";
  }
}
