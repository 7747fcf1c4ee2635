import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import type { Events } from "../events.js";
import { InTurn } from "../runtime/in-turn.js";
import { Loop } from "../runtime/loop.js";
import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";
import type { Sessions } from "../seams/session.js";
import { defaults } from "../settings.js";
import type { RecentFigures } from "../work/figures.js";
import { DirectSession } from "./direct-session.js";
import { heartbeat } from "./heartbeat.js";
import type { WorkerLoad } from "./load.js";
import type { MemberSettings } from "./member-settings.js";
import { Roster } from "./roster.js";
import { TrustWindow } from "./trust-window.js";
import { Watch } from "./watch.js";
import { type Failing, WorkerRecord } from "./worker-record.js";

export interface MembershipSeams {
  readonly database: GuardedDatabase;
  readonly bind: Binder;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
  readonly sessions: Sessions;
}

/** Whoever works as a member of the fleet: a queue's worker, a tenant supervisor. */
export interface Participant {
  /** The kinds of jobs that it has handlers for; left out when it takes no jobs. */
  readonly kinds?: readonly string[];
  /** When the queue was created that it works on; left out when it works on none. */
  readonly createdUs?: string;
  /** The roster changed, or was read again after a silence. */
  onRing(): void;
  /** Rows may be waiting in these buckets; null for any. */
  onWake(buckets: readonly number[] | null): void;
  onSuperseded(): void;
  /** An operator asks this process to drain: stop in good order. Called at each beat until it has. */
  onDrainAsked(): void;
  /** A beat has not found the queue that it works on: it was dropped, perhaps created again. The beat may be older than the participant. */
  onQueueMissing?(): void;
  /** How long this process is sure of being taken for alive has become shorter: ask sureForMs(). */
  onDoubt?(): void;
  load(): {
    readonly running: number;
    readonly inHand: number;
    readonly slots?: number;
    readonly idleMs?: number | null;
    readonly recent?: RecentFigures;
  };
}

/**
 * This process as a member of the fleet: one row, one heartbeat, one session, one roster, whatever number of queues it works on. Joins the registry with
 * its first participant and leaves it with the last. src/membership/README.md tells what may be trusted until when.
 */
export class Membership {
  readonly settings: MemberSettings;
  readonly record: WorkerRecord;
  readonly roster: Roster;
  readonly trust: TrustWindow;
  readonly #session: DirectSession;
  readonly #participants = new Map<string, Participant>();
  readonly #version: string;
  readonly #clock: Clock;
  readonly #events: Events;
  readonly #heartbeat: Loop;
  readonly #ring: Loop;
  readonly #sessionLoop: Loop;
  readonly #watch: Loop;
  #isSuperseded = false;
  #mustRegister = false;
  /** Nobody that has finished since this process entered left anything behind. */
  #isClean = true;
  #isSessionDoubted = false;
  #sessionLostAtMs = Number.NEGATIVE_INFINITY;
  #markedDeadAtMs = Number.NEGATIVE_INFINITY;
  /** Joining and finishing happen one after another: the first enters the registry, the last leaves it. */
  readonly #turn = new InTurn();

  constructor(seams: MembershipSeams, settings: MemberSettings, version: string) {
    this.settings = settings;
    this.#version = version;
    this.#clock = seams.clock;
    this.#events = seams.events;
    this.record = new WorkerRecord(seams, settings);
    this.trust = new TrustWindow(seams, settings);
    this.roster = new Roster(seams, settings.ringCacheMs);
    this.#session = new DirectSession(seams, settings.id, {
      onRing: (payload) => this.#onRingNotice(payload),
      onWake: (payload) => this.#onWake(payload),
      onLost: () => this.#onSessionLost(),
    });
    this.#heartbeat = new Loop(
      seams,
      heartbeat(seams, {
        record: this.record,
        trust: this.trust,
        load: () => this.#load(),
        onMarkedDead: () => this.#onMarkedDead(),
        onSessionFree: (beatStartedAtMs) => this.#onSessionFree(beatStartedAtMs),
        onTrusted: () => this.#ring.wake(),
        onDrainAsked: () => {
          for (const participant of this.#participants.values()) participant.onDrainAsked();
        },
        onQueuesFound: () => this.#onQueuesFound(),
        onSuperseded: () => this.#onSuperseded(),
      }),
    );
    this.#ring = new Loop(seams, { name: this.roster.name, run: () => this.#readRoster() });
    this.#sessionLoop = new Loop(seams, { name: "session", run: () => this.#keepSession() });
    const parts = { session: this.#session, roster: this.roster };
    this.#watch = new Loop(seams, new Watch(seams, settings.id, parts));
    this.roster.onChange(() => this.#onRoster());
    this.trust.onShut(() => this.#doubt());
  }

  /** True when notifications reach this process. */
  get canBeWoken(): boolean {
    return this.#session.state === "open";
  }

  /** For how long the slowest of its loops has been in a pass, or is overdue. */
  lateMs(): number {
    return Math.max(
      ...[this.#heartbeat, this.#ring, this.#sessionLoop, this.#watch].map((loop) => loop.lateMs()),
    );
  }

  get isSuperseded(): boolean {
    return this.#isSuperseded;
  }

  /**
   * How long nobody takes this process for dead, whatever happens: for its trust window; and, while the registry believes in a session that broke, for less than the watcher's grace.
   */
  sureForMs(): number {
    const leftMs = this.trust.leftMs();
    const trusted = Math.min(leftMs, this.trust.leftByDayMs());
    // Whether the machine slept or its clock was set, a beat finds out.
    if (trusted <= 0 && leftMs > 0) this.#heartbeat.wake();
    if (trusted <= 0) this.trust.isOpen(); // Tells when it is not.
    if (!this.record.toldSession || this.#session.isLocked) return trusted;
    const graceMs = defaults.sessionGraceMs * defaults.tenantSureShare;
    return Math.max(0, Math.min(trusted, this.#sessionLostAtMs + graceMs - this.#clock.monotonicMs()));
  }

  /** Since when this process has been alive without a break. The roster may not know yet that it was taken for dead. */
  aliveSinceMs(): number {
    const self = this.roster.members.find(({ id }) => id === this.settings.id);
    return Math.max(self?.aliveSinceMs ?? this.#clock.monotonicMs(), this.#markedDeadAtMs);
  }

  /** Enters the registry, or adds a queue to what this process works on. Resolves with the roster read. */
  async join(queue: string, participant: Participant): Promise<void> {
    await this.#turn.run(() => this.#join(queue, participant));
  }

  /** Out of the ring of this queue, at once. The process stays registered until finish(). */
  async leave(queue: string): Promise<void> {
    await this.record.changeQueues({ remove: queue });
  }

  /** Out of the ring of this queue while its work fails, and back when it does not (null). */
  async tellFailing(queue: string, failing: Failing | null): Promise<void> {
    if (!(await this.record.changeFailing(queue, failing))) this.#heartbeat.wake();
  }

  /** The participant has nothing in hand any more; with the last one the process leaves the registry. */
  async finish(queue: string, isClean: boolean): Promise<void> {
    await this.#turn.run(() => this.#finish(queue, isClean));
  }

  /** A claim was refused because this worker is marked dead: find out now. */
  suspectDeath(): void {
    this.trust.shut();
    this.#heartbeat.wake();
  }

  async #join(queue: string, participant: Participant): Promise<void> {
    const isFirst = this.#participants.size === 0;
    this.#participants.set(queue, participant);
    if (participant.kinds !== undefined) this.record.hasHandlersFor(queue, participant.kinds);
    if (isFirst) await this.#enter(queue);
    else if (!(await this.record.changeQueues({ add: queue }))) this.#heartbeat.wake();
    await this.roster.run();
  }

  async #finish(queue: string, isClean: boolean): Promise<void> {
    this.#participants.delete(queue);
    this.record.forget(queue);
    this.#isClean &&= isClean;
    if (this.#participants.size > 0) return;
    await Promise.all([
      this.#heartbeat.stop(),
      this.#ring.stop(),
      this.#watch.stop(),
      this.#sessionLoop.stop(),
    ]);
    try {
      await this.record.deregister(this.#isClean);
    } finally {
      await this.#session.close();
      this.trust.end();
    }
  }

  async #enter(queue: string): Promise<void> {
    this.#isSuperseded = false;
    this.#isClean = true;
    // Without a session it works all the same: the loop goes on trying.
    await this.#session.open().catch(() => {});
    this.record.hasSession = this.#session.isLocked;
    this.record.willWorkOn(queue);
    const startedAtMs = this.#clock.monotonicMs();
    await this.record.register(this.#load(), "it starts");
    this.trust.extend(startedAtMs);
    for (const loop of [this.#heartbeat, this.#ring, this.#sessionLoop, this.#watch]) loop.start();
  }

  /** A session that broke may have been seen to be gone: the process registers again, and looks at everything it may have missed. */
  async #keepSession(): Promise<number> {
    if (this.#isSuperseded) return Number.POSITIVE_INFINITY; // The session lock is for who has the id now.
    if (this.#isSessionDoubted) await this.#session.probe();
    this.#isSessionDoubted = false;
    const wasOpened = await this.#session.open();
    const { state, isLocked } = this.#session;
    if (state === "unavailable") return Number.POSITIVE_INFINITY;
    if (!isLocked && state === "open") await this.#session.lock();
    this.#mustRegister ||= wasOpened || this.#session.isLocked !== this.record.hasSession;
    this.record.hasSession = this.#session.isLocked;
    if (this.#mustRegister) {
      const startedAtMs = this.#clock.monotonicMs();
      const isRegistered = await this.record.register(this.#load(), "its session is new");
      this.#mustRegister = false;
      if (!isRegistered) {
        this.#heartbeat.wake(); // It finds out that somebody else has the id.
        return Number.POSITIVE_INFINITY;
      }
      this.trust.extend(startedAtMs);
      if (!this.#session.isLocked) this.#doubt(); // It broke while it was told of.
      this.#watch.wake();
      this.#ring.wake();
      for (const participant of this.#participants.values()) participant.onWake(null);
    }
    return this.#session.isLocked ? Number.POSITIVE_INFINITY : defaults.watchOtherMs;
  }

  /** Says so before the grace is over: without a session only the TTL counts, however long it takes to open another. */
  #onSessionLost(sinceMs = this.#clock.monotonicMs()): void {
    this.record.hasSession = false;
    this.#sessionLostAtMs = sinceMs;
    this.#doubt();
    this.#heartbeat.wake();
    this.#sessionLoop.wake();
  }

  /** The grace began again with the beat, which the server saw after it was sent. */
  #onSessionFree(beatStartedAtMs: number): void {
    if (this.#session.lockedAtMs < beatStartedAtMs && this.#session.drop("its lock is free on the server"))
      this.#onSessionLost(beatStartedAtMs);
  }

  /** A session that answers is told of when the process registers again; otherwise only the TTL counts until one does. */
  async #onMarkedDead(): Promise<void> {
    this.#markedDeadAtMs = this.#clock.monotonicMs();
    if (this.record.isSessionFree) this.#session.drop("its lock is free on the server");
    else if (await this.#session.answersWithin(defaults.sessionProbeMs)) return;
    this.#isSessionDoubted = true;
    this.record.hasSession = false;
    this.#sessionLoop.wake();
  }

  #doubt(): void {
    for (const participant of this.#participants.values()) participant.onDoubt?.();
  }

  /** Also when nothing has changed: it may have been marked dead again before it was read that it was back. */
  async #readRoster(): Promise<number> {
    const delayMs = await this.roster.run();
    const isListed = this.roster.members.some((member) => member.id === this.settings.id);
    if (!isListed && this.record.queues.size > 0) this.#heartbeat.wake();
    return delayMs;
  }

  #onRoster(): void {
    this.trust.isOpen(); // Tells when it is not.
    for (const participant of this.#participants.values()) participant.onRing();
  }

  /** Tenants that were given up concern their supervisor, not the list of members. */
  #onRingNotice(payload: string): void {
    if (payload.startsWith("tenants:")) this.#participants.get(payload)?.onWake(null);
    else this.#ring.wake();
  }

  #onWake(payload: string): void {
    const separator = payload.lastIndexOf(":");
    const participant = this.#participants.get(payload.slice(0, separator));
    const buckets = payload.slice(separator + 1);
    participant?.onWake(buckets === "" ? null : buckets.split(",").map(Number));
  }

  #onQueuesFound(): void {
    for (const [queue, participant] of this.#participants) {
      const { createdUs } = participant;
      if (createdUs !== undefined && createdUs !== this.record.createdUs[queue])
        participant.onQueueMissing?.();
    }
  }

  #onSuperseded(): void {
    if (this.#isSuperseded) return;
    this.#isSuperseded = true;
    const { id: workerId } = this.settings;
    this.#events.emit("worker:superseded", { workerId, generation: this.record.generation });
    for (const participant of this.#participants.values()) participant.onSuperseded();
  }

  #load(): WorkerLoad {
    let running = 0;
    let held = 0;
    let slots = 0;
    const idleMs: Record<string, number> = {};
    const recent: Record<string, RecentFigures> = {};
    for (const [queue, participant] of this.#participants) {
      const load = participant.load();
      running += load.running;
      held += load.inHand;
      slots += load.slots ?? 0;
      if (typeof load.idleMs === "number") idleMs[queue] = load.idleMs;
      if (load.recent !== undefined) recent[queue] = load.recent;
    }
    return { version: this.#version, running, slots, held, idleMs, recent };
  }
}
