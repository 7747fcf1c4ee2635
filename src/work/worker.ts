import { checkMayWork } from "../database/version.js";
import { DrainedError, OutdatedLibraryError, UnknownQueueError, WorkerStateError } from "../errors.js";
import type { Events } from "../events.js";
import type { Membership } from "../membership/membership.js";
import { OwnedBuckets } from "../membership/owned-buckets.js";
import type { Failing } from "../membership/worker-record.js";
import type { Activity } from "../runtime/activity.js";
import { Deadline } from "../runtime/deadline.js";
import { Loop } from "../runtime/loop.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";
import { ClaimAhead } from "./claim-ahead.js";
import { claimOrProbe } from "./claim-or-probe.js";
import { ClaimActivity } from "./claim-pass.js";
import { Claimer } from "./claimer.js";
import { Dispatcher } from "./dispatch.js";
import { Figures } from "./figures.js";
import { givenUp, handle } from "./handle.js";
import type { CheckedKind } from "./handlers.js";
import { Health } from "./health.js";
import type { Ending, HeldJob } from "./held-job.js";
import { housekeepIfDue } from "./housekeeping.js";
import type { QueueSeams } from "./queue-seams.js";
import { SettleLane } from "./settle-lane.js";
import { Supervise } from "./supervise.js";
import type { WorkerSettings } from "./worker-settings.js";

export interface WorkerParts {
  readonly membership: Membership;
  readonly clock: Clock;
  readonly kinds: ReadonlyMap<string, CheckedKind>;
  readonly settings: WorkerSettings;
  /** Opens the queue; it must exist. */
  open(): Promise<QueueSeams>;
  /** Begins to heed signals for this worker; returns what ends that. */
  heedSignals(): () => void;
}

export type WorkerState = "new" | "starting" | "working" | "draining" | "stopped";

const noBuckets: readonly number[] = Object.freeze([]);

/** The moving parts of a worker that has started, in the order of a job's life. */
interface Works {
  readonly seams: QueueSeams;
  readonly owned: OwnedBuckets;
  readonly dispatcher: Dispatcher;
  readonly claimer: Claimer;
  readonly claim: ClaimActivity;
  readonly health: Health;
  readonly figures: Figures;
  readonly claimLoop: Loop;
  readonly superviseLoop: Loop;
  readonly housekeepingLoop: Loop;
  givenUp(held: HeldJob): Ending;
}

/**
 * Works on one queue: claims from the buckets it owns, runs handlers, settles, until it is stopped. new -> starting -> working -> draining -> stopped,
 * once. Made by lh.worker().
 */
export class Worker {
  readonly queueName: string;
  readonly events: Events;
  readonly #parts: WorkerParts;
  #state: WorkerState = "new";
  #works: Works | null = null;
  #starting: Promise<void> | null = null;
  #stopping: Promise<void> | null = null;
  #ignoreSignals: () => void = () => {};

  constructor(queueName: string, events: Events, parts: WorkerParts) {
    this.queueName = queueName;
    this.events = events;
    this.#parts = parts;
  }

  get id(): string {
    return this.#parts.membership.settings.id;
  }

  get state(): WorkerState {
    return this.#state;
  }

  /** What it is doing: handlers running, rows in hand, buckets owned by the ring it sees. */
  get load(): { readonly running: number; readonly inHand: number; readonly owned: number } {
    const { dispatcher, owned } = this.#works ?? {};
    return {
      running: dispatcher?.running.size ?? 0,
      inHand: dispatcher?.inHand.size ?? 0,
      owned: owned?.current.length ?? 0,
    };
  }

  /** The buckets it owns by the ring it sees; a new list whenever that changes. */
  get buckets(): readonly number[] {
    return this.#works?.owned.current ?? noBuckets;
  }

  /** Counts and durations since it started; null before that. */
  get figures(): Figures | null {
    return this.#works?.figures ?? null;
  }

  /** What of its work always fails, and why; null when nothing does. */
  get failing(): Failing | null {
    return this.#works?.health.failing ?? null;
  }

  /** For how long the slowest of its loops has been in a pass, or is overdue. */
  lateMs(): number {
    if (this.#works === null) return 0;
    const { claimLoop, superviseLoop, housekeepingLoop } = this.#works;
    return Math.max(...[claimLoop, superviseLoop, housekeepingLoop].map((loop) => loop.lateMs()));
  }

  /** Enters the registry and begins to work. Resolves when it is in the ring. */
  async start(): Promise<void> {
    if (this.#state !== "new") {
      throw new WorkerStateError(
        `The worker on ${this.queueName} is ${this.#state}; it starts once. Make another with lh.worker().`,
      );
    }
    this.#state = "starting";
    this.#starting = this.#begin();
    try {
      await this.#starting;
    } catch (error) {
      this.#state = "stopped";
      throw error;
    }
  }

  /** Drains: leaves the ring, hands back what was not started, waits for what runs, then leaves the registry. Safe to call again. */
  async stop(why = "it was told to"): Promise<void> {
    if (this.#state === "new") this.#state = "stopped";
    if (this.#state === "starting" && !(await this.#hasStarted())) {
      void this.#starting?.then(() => this.stop(why)).catch(() => {}); // If it ever does, it stops.
      return;
    }
    if (this.#state === "stopped" && this.#stopping === null) return;
    if (this.#works === null) return;
    this.#stopping ??= this.#drain(this.#works, why);
    await this.#stopping;
  }

  /** False when the start takes longer than a drain may. */
  async #hasStarted(): Promise<boolean> {
    const { drainLimitMs, abortGraceMs } = this.#parts.settings;
    const limitMs = drainLimitMs + abortGraceMs + defaults.drainRestMs;
    return await new Deadline(this.#parts.clock, limitMs).wait(this.#starting ?? Promise.resolve());
  }

  async #begin(): Promise<void> {
    const { membership, settings } = this.#parts;
    const works = this.#build(await this.#parts.open());
    this.#works = works;
    try {
      await membership.join(this.queueName, {
        kinds: [...this.#parts.kinds.keys()],
        createdUs: works.seams.createdUs,
        onQueueMissing: () => void this.#checkQueue(works),
        onRing: () => this.#onRing(works),
        onWake: (buckets) => {
          works.claim.noteNotification();
          this.#wake(works, buckets);
        },
        onSuperseded: () => void this.stop("another process has its id"),
        onDrainAsked: () => void this.stop("an operator asked for it"),
        load: () => ({
          ...this.load,
          slots: settings.concurrency,
          idleMs: this.#idleMs(works),
          recent: works.figures.recent(),
        }),
      });
    } catch (error) {
      await membership.finish(this.queueName, true).catch(() => {});
      throw error;
    }
    if (settings.handlesSignals) this.#ignoreSignals = this.#parts.heedSignals();
    this.#state = "working";
    this.#onRing(works);
    for (const loop of [works.superviseLoop, works.claimLoop, works.housekeepingLoop]) loop.start();
    const { concurrency } = settings;
    this.events.emit("worker:started", { workerId: this.id, queue: this.queueName, concurrency });
  }

  #build(seams: QueueSeams): Works {
    const { membership, kinds, settings } = this.#parts;
    const { concurrency, leaseMs, abortGraceMs, middleware } = settings;
    const owned = new OwnedBuckets(seams, this.id, membership.roster);
    const health = new Health(seams, {
      workerId: this.id,
      queue: this.queueName,
      hasOthers: () => membership.roster.workersOf(this.queueName).some(({ id }) => id !== this.id),
      onChange: (failing) => {
        void membership.tellFailing(this.queueName, failing).catch(() => {}); // The next beat tells it.
        claim.wakeFor(null);
        claimLoop.wake();
      },
    });
    const figures = new Figures(seams.clock);
    const lane = new SettleLane(seams, health, figures);
    const hotLane = new SettleLane(seams, health, figures);
    const parts = { events: this.events, kinds, middleware, hooks: seams.hooks };
    const dispatcher = new Dispatcher({
      clock: seams.clock,
      events: this.events,
      settings: seams.settings,
      concurrency,
      attempt: (held) => handle(parts, held),
      timeoutMsOf: (kind) => kinds.get(kind)?.timeoutMs ?? settings.handlerTimeoutMs,
      settle: (settlement, { untilMs, isHot }, answered) =>
        (isHot ? hotLane : lane).add(settlement, untilMs, answered),
      onStale: () => onOverdue(),
      onUnsettled: (held) => claimer.linger(held),
      onStarted: (timeoutAtMs) => {
        if (supervise.isLateFor(timeoutAtMs)) superviseLoop.wake();
      },
      onLeft: (held) => {
        health.noteLeft();
        this.#note(figures, held);
        ahead.took(held.endedAtMs - held.startedAtMs, seams.clock.monotonicMs() - held.startedAtMs);
        if (claim.hasReasonToLook(held)) claimLoop.wake();
      },
    });
    const giveUp = (held: HeldJob): Ending => givenUp(parts, held);
    const supervise = new Supervise(seams, { dispatcher, leaseMs, abortGraceMs, figures, givenUp: giveUp });
    const superviseLoop = new Loop(seams, supervise);
    const ahead = new ClaimAhead(dispatcher, concurrency, settings.claimBatch);
    const onOverdue = (): void => {
      supervise.renewNow();
      superviseLoop.wake();
    };
    const claimer = new Claimer(seams, {
      membership,
      owned,
      dispatcher,
      leaseMs,
      health,
      kinds: [...kinds.keys()],
    });
    const { pollIdleMs, pollActiveMs } = settings;
    const polls = { pollIdleMs, pollActiveMs };
    const claimParts = { membership, owned, dispatcher, ahead, claimer, figures, ...polls, onOverdue };
    const claim = new ClaimActivity(seams, claimParts);
    const probeParts = { membership, owned, dispatcher, claimer, claim, health };
    const claimLoop = new Loop(seams, this.#untilDropped(claimOrProbe(seams, probeParts)));
    const housekeepingLoop = new Loop(seams, {
      name: "housekeeping",
      run: () => this.#housekeep(seams),
    });
    const loops = { claimLoop, superviseLoop, housekeepingLoop };
    return { seams, owned, dispatcher, claimer, claim, health, figures, ...loops, givenUp: giveUp };
  }

  /** A row has left whose handler was called. One that was completed in a transaction of its own was not settled by a lane. */
  #note(figures: Figures, { job, isSettled, startedAtMs, endedAtMs }: HeldJob): void {
    const tookMs = endedAtMs - startedAtMs;
    figures.handled(job.kind, tookMs);
    if (isSettled) figures.count("completed");
    if (!this.events.isHeard("job:handled")) return;
    const { id, kind, attempt } = job;
    this.events.emit("job:handled", { queue: this.queueName, id, kind, attempt, tookMs });
  }

  /** Without its queue it has nothing to do. */
  #untilDropped(activity: Activity): Activity {
    return {
      name: activity.name,
      run: async () => {
        try {
          return await activity.run();
        } catch (error) {
          if (!(error instanceof UnknownQueueError)) throw error;
          this.#endDropped();
          return Number.POSITIVE_INFINITY;
        }
      },
    };
  }

  /** One that was dropped and created again is another queue, whose buckets and ring this worker does not know. What can't be asked now, the next beat finds again. */
  async #checkQueue({ seams }: Works): Promise<void> {
    const find = this.#parts.open().then(({ createdUs }) => createdUs === seams.createdUs);
    const isThere = await find.catch((error: unknown) => !(error instanceof UnknownQueueError));
    if (!isThere) this.#endDropped();
  }

  #endDropped(): void {
    if (this.#state === "working")
      this.events.emit("queue:dropped", { queue: this.queueName, workerId: this.id });
    void this.stop("its queue was dropped");
  }

  /** How long it has owned buckets, had room, and not been answered a claim; null when it owns nothing. */
  #idleMs({ owned, dispatcher, health }: Works): number | null {
    if (owned.current.length === 0) return null;
    return dispatcher.running.size >= this.#parts.settings.concurrency ? 0 : Math.round(health.idleMs());
  }

  async #housekeep(seams: QueueSeams): Promise<number> {
    const { housekeepingMs } = this.#parts.settings;
    if (await this.#isOutdated(seams)) return Number.POSITIVE_INFINITY;
    await housekeepIfDue({ ...seams, schema: seams.settings.schema }, housekeepingMs * 0.9);
    return housekeepingMs * (1 - 0.1 * seams.random.fraction());
  }

  /** A newer version may have migrated the schema to what this one can't work on: then it leaves the work to the others. */
  async #isOutdated(seams: QueueSeams): Promise<boolean> {
    const { settings } = seams;
    try {
      await checkMayWork(seams, { schema: settings.schema, queue: settings.name });
      return false;
    } catch (error) {
      if (!(error instanceof OutdatedLibraryError)) throw error;
      this.events.emit("library:outdated", {
        queue: this.queueName,
        workerId: this.id,
        error: error.message,
      });
      void this.stop("the schema needs a newer version of the library");
      return true;
    }
  }

  #onRing(works: Works): void {
    if (this.#state !== "working") return;
    const before = works.owned.current;
    const gained = works.owned.rebuild();
    if (works.owned.current !== before) works.figures.count("ringChanges");
    if (gained.length > 0) this.#wake(works, null);
  }

  #wake(works: Works, buckets: readonly number[] | null): void {
    works.claim.wakeFor(buckets);
    works.claimLoop.wake();
  }

  /**
   * One deadline for all of it, whatever the database does: what could not be told by then is left to the lease and the TTL. The first part of it is for claims under way and for handlers,
   * and what remains is for outcomes and for leaving the registry.
   */
  async #drain(works: Works, why: string): Promise<void> {
    const { membership, settings } = this.#parts;
    const { drainLimitMs, abortGraceMs, leaseMs } = settings;
    const { dispatcher, seams } = works;
    const { clock } = seams;
    const calm = new Deadline(clock, drainLimitMs + defaults.drainRestMs / 2);
    const end = new Deadline(clock, drainLimitMs + abortGraceMs + defaults.drainRestMs);
    this.#state = "draining";
    dispatcher.startNoMore();
    const running = dispatcher.running.size;
    this.events.emit("worker:draining", { workerId: this.id, queue: this.queueName, running, why });
    const left = membership.leave(this.queueName).catch(() => {});
    const housekeeping = works.housekeepingLoop.stop();
    const hasClaimed = await calm.wait(works.claimLoop.stop().then(() => works.claim.finish()));
    await calm.wait(Promise.allSettled([left, dispatcher.stop(clock.monotonicMs() + drainLimitMs)]));
    await this.#untilIdle(works, Math.min(drainLimitMs, calm.leftMs));
    for (const held of dispatcher.running) held.abort(new DrainedError(held.job.id, drainLimitMs));
    await this.#untilIdle(works, abortGraceMs);
    for (const held of dispatcher.running) held.give(works.givenUp(held));
    await this.#untilIdle(works, Math.min(leaseMs, drainLimitMs, end.leftMs));
    await end.wait(works.superviseLoop.stop());
    const isTold = dispatcher.inHand.size === 0 && !works.claimer.isUnsure && !works.claimer.isLingering;
    const isClean = hasClaimed && isTold;
    // A round may be long; what it has not done is done by another process.
    await new Deadline(clock, Math.min(abortGraceMs, end.leftMs)).wait(housekeeping);
    await end.wait(membership.finish(this.queueName, isClean));
    this.#ignoreSignals();
    this.#state = "stopped";
    seams.events.emit("worker:stopped", { workerId: this.id, queue: this.queueName, isClean });
  }

  /** Until nothing is running and every outcome is written, or so long. */
  async #untilIdle(works: Works, limitMs: number): Promise<void> {
    const { clock } = works.seams;
    const untilMs = clock.monotonicMs() + limitMs;
    while (works.dispatcher.inHand.size > 0 && clock.monotonicMs() < untilMs) {
      const idle = new AbortController();
      works.dispatcher.onIdle = () => idle.abort();
      await clock.sleep(untilMs - clock.monotonicMs(), idle.signal);
    }
  }
}
