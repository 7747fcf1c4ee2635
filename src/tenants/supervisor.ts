import { NotOwnerError, WorkerStateError } from "../errors.js";
import type { EventName, Listener } from "../events.js";
import { Deadline } from "../runtime/deadline.js";
import { InTurn } from "../runtime/in-turn.js";
import { Loop } from "../runtime/loop.js";
import { asObject, defaults } from "../settings.js";
import { checkedRegion, checkedTenant } from "./checked-tenant.js";
import { type DispatchParts, dispatchCold, fanOut } from "./dispatch.js";
import { HotSet } from "./hot-set.js";
import { holderElsewhere } from "./lease.js";
import { TenantCounts, type TenantMetrics } from "./metrics.js";
import type { ActiveWorker } from "./ownership.js";
import { RestartLoops } from "./restart-loops.js";
import { Runs } from "./runs.js";
import type { SupervisorSeams } from "./supervisor-seams.js";
import type { DispatchOptions, FanOutOptions, TaskResult } from "./task-result.js";
import { Tasks, type TenantTask } from "./tasks.js";
import type { DemoteReason } from "./tenant.js";
import type { TenantSettings, TenantSupervisorOptions } from "./tenant-settings.js";
import { Tick } from "./tick.js";

export type SupervisorState = "new" | "starting" | "working" | "draining" | "stopped";

/** A tenant that runs on this process. */
export interface RunningTenant {
  readonly tenant: string;
  /** In decimal digits. */
  readonly fenceToken: string;
  /** How long it has been running under this token. */
  readonly runningMs: number;
  /** How often start() was called under it. */
  readonly attempt: number;
}

/**
 * Runs one long-lived thing for each hot tenant, on exactly one process of the fleet. src/tenants/README.md tells how. Made by createTenantSupervisor(); new -> starting ->
 * working -> draining -> stopped, once.
 */
export class TenantSupervisor<S = unknown> {
  readonly #seams: SupervisorSeams;
  readonly #settings: TenantSettings;
  readonly #counts = new TenantCounts();
  readonly #turn = new InTurn();
  readonly #loops: RestartLoops;
  readonly #runs: Runs<S>;
  readonly #tick: Tick<S>;
  readonly #tasks: Tasks<S>;
  readonly #hot: HotSet;
  readonly #tickLoop: Loop;
  readonly #hotLoop: Loop;
  readonly #housekeepingLoop: Loop;
  #state: SupervisorState = "new";
  #starting: Promise<void> | null = null;
  #stopping: Promise<void> | null = null;
  readonly #isToldToStop = new AbortController();
  #detach: readonly (() => void)[] = [];

  constructor(seams: SupervisorSeams, settings: TenantSettings, options: TenantSupervisorOptions<S>) {
    this.#seams = seams;
    this.#settings = settings;
    const { ownership, events } = seams;
    this.#hot = new HotSet(seams, settings.name, options);
    this.#loops = new RestartLoops(events);
    const tasks = (): Tasks<S> => this.#tasks;
    this.#runs = new Runs(seams, { ownership, settings, options, counts: this.#counts, tasks });
    this.#tick = new Tick(seams, {
      ownership,
      settings,
      hot: this.#hot,
      runs: this.#runs,
      counts: this.#counts,
      turn: this.#turn,
      isWorkedFor: (tenant) => this.#tasks.has(tenant),
      endTask: (tenant) => this.#tasks.end(tenant, "ownership-change"),
    });
    this.#tasks = new Tasks({
      clock: seams.clock,
      ownership,
      runs: this.#runs,
      tick: this.#tick,
      turn: this.#turn,
      drainLimitMs: settings.drainLimitMs,
    });
    this.#tickLoop = new Loop(seams, {
      name: "tenants",
      run: async () => {
        this.#loops.note(ownership.registrations(), seams.clock.monotonicMs());
        return await this.#tick.run();
      },
    });
    this.#hotLoop = new Loop(seams, { name: "hot-tenants", run: () => this.#askHot() });
    this.#housekeepingLoop = new Loop(seams, { name: "housekeeping", run: () => this.#housekeep() });
  }

  get name(): string {
    return this.#settings.name;
  }

  /** Who this process is in the fleet. */
  get workerId(): string {
    return this.#seams.ownership.workerId;
  }

  get state(): SupervisorState {
    return this.#state;
  }

  /** Subscribes to an event of the connection; returns what ends the subscription. */
  on<N extends EventName>(name: N, listener: Listener<N>): () => void {
    return this.#seams.events.on(name, listener);
  }

  /** Enters the fleet and begins to run tenants. Resolves after the first tick. */
  async start(): Promise<void> {
    if (this.#state !== "new")
      throw new WorkerStateError(
        `The supervisor ${this.name} is ${this.#state}; it starts once. Make another.`,
      );
    this.#detach = [this.#seams.attach(this)];
    this.#state = "starting";
    this.#starting = this.#begin();
    try {
      await this.#starting;
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  /** Drains: ends every tenant, names who is to go on, gives the leases up, leaves the fleet. Safe to call again. */
  async stop(why = "it was told to"): Promise<void> {
    if (this.#state === "new") this.#state = "stopped";
    this.#isToldToStop.abort();
    const end = new Deadline(this.#seams.clock, this.#settings.drainLimitMs + 3 * defaults.tenantLetGoMs);
    if (this.#starting !== null && !(await end.wait(this.#starting))) {
      void this.#starting.then(() => this.stop(why)).catch(() => {}); // If it ever does, it stops.
      return;
    }
    if (this.#state === "stopped" && this.#stopping === null) return;
    this.#stopping ??= this.#drain(why, end);
    await this.#stopping;
  }

  /** Makes a cold tenant hot here, until it is demoted or, with a policy, idle. Resolves with its token; NotOwnerError names who else would have to. */
  async promote(
    tenant: string,
    options: { readonly preferredRegion?: string | undefined } = {},
  ): Promise<bigint> {
    this.#mustWork("promote");
    const region = checkedRegion(asObject("options", options).preferredRegion);
    return await this.#turn.run(() => this.#promote(checkedTenant(tenant), region));
  }

  /** Ends a tenant that runs here and makes it cold. If hot() lists it, the next tick starts it again. */
  async demote(tenant: string, reason: DemoteReason = "idle"): Promise<void> {
    this.#mustWork("demote");
    const run = this.#runs.get(checkedTenant(tenant));
    if (run === undefined) throw new NotOwnerError(tenant, this.owner(tenant));
    await this.#runs.end(run, reason, false);
  }

  /** True when the tenant runs here or, being cold, would run here. */
  owns(tenant: string): boolean {
    return this.owner(tenant) === this.workerId && this.#seams.ownership.sureForMs() > 0;
  }

  /** Who runs the tenant or, if nobody does, is to run it; as of the last tick. Null while nobody could. */
  owner(tenant: string): string | null {
    return this.#tick.ownerOf(checkedTenant(tenant));
  }

  /** The live processes of this fleet, by their ids, from the registry. */
  async listActive(): Promise<readonly ActiveWorker[]> {
    return await this.#seams.ownership.active();
  }

  /** What runs on this process. */
  hotTenants(): readonly RunningTenant[] {
    const nowMs = this.#seams.clock.monotonicMs();
    return this.#runs.running.map(({ tenant, token, beganAtMs, attempt }) =>
      Object.freeze({ tenant, fenceToken: token.toString(), runningMs: nowMs - beganAtMs, attempt }),
    );
  }

  /** Shares the tenants out now, and asks hot() and the policy for it, instead of at the next tick. */
  async tick(): Promise<void> {
    this.#mustWork("tick");
    await this.#hot.refresh();
    await this.#tick.run();
    this.#tickLoop.wake();
  }

  /** Runs a short task for each of the tenants that is cold and this process's; see src/tenants/dispatch.ts for what comes back. */
  async dispatchCold<T>(
    tenants: Iterable<string>,
    task: TenantTask<T>,
    options: DispatchOptions = {},
  ): Promise<readonly TaskResult<T>[]> {
    this.#mustWork("dispatch");
    return await dispatchCold(this.#dispatchParts(), tenants, task, options);
  }

  /** Runs a task for every one of the tenants, each on its owner. Call it on every process, with one id for all. */
  async fanOut<T>(
    tenants: Iterable<string>,
    task: TenantTask<T>,
    options: FanOutOptions = {},
  ): Promise<readonly TaskResult<T>[]> {
    this.#mustWork("dispatch");
    return await fanOut(this.#dispatchParts(), tenants, task, options);
  }

  metrics(): TenantMetrics {
    return this.#counts.snapshot(this.#runs.running.length, this.#loops.current);
  }

  async #begin(): Promise<void> {
    const { ownership, clock } = this.#seams;
    this.#runs.open();
    try {
      await ownership.join({
        onChange: () => this.#tickLoop.wake(),
        onDoubt: () => this.#onDoubt(),
        onSuperseded: () => this.#onSuperseded(),
        onDrainAsked: () => void this.stop("an operator asked for it"),
        load: () => this.#runs.size + this.#tasks.size,
      });
    } catch (error) {
      await ownership.finish(true).catch(() => {});
      await this.#runs.close();
      throw error;
    }
    if (this.#settings.handlesSignals) this.#detach = [...this.#detach, this.#seams.heedSignals()];
    this.#state = "working";
    this.#loops.note(ownership.registrations(), clock.monotonicMs());
    await this.#firstTick();
    for (const loop of [this.#tickLoop, this.#hotLoop, this.#housekeepingLoop]) loop.start();
  }

  /** Not waited for once it is told to stop: a hot() that does not answer must not keep it. */
  async #firstTick(): Promise<void> {
    const { signal } = this.#isToldToStop;
    const isToldToStop = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    if (signal.aborted) return;
    await Promise.race([this.#hot.refresh(), isToldToStop]);
    if (!signal.aborted) await this.#tick.run().catch(() => {}); // The loop tries again, and tells.
  }

  async #promote(tenant: string, region: string | null): Promise<bigint> {
    const { ownership } = this.#seams;
    const running = this.#runs.get(tenant);
    if (running !== undefined) return running.token;
    const [lease] = await ownership.list([tenant]);
    const place = region ?? lease?.region ?? null;
    const owner = holderElsewhere(lease) ?? this.#tick.coldOwnerOf(tenant, place);
    if (owner !== this.workerId) throw this.#refused(tenant, owner);
    if (this.#runs.isBusy(tenant) || this.#tasks.has(tenant))
      throw new WorkerStateError(
        `The tenant ${tenant} is ending on this process, or worked for; promote it again in a moment.`,
      );
    const wanted = { tenant, seen: BigInt(lease?.token ?? 0), region: place, source: "promoted" } as const;
    const token = (await ownership.win([wanted])).get(tenant);
    if (token === undefined) throw this.#refused(tenant, (await ownership.list([tenant]))[0]?.owner ?? null);
    if (!this.#runs.begin(tenant, token)) throw this.#refused(tenant, null);
    return token;
  }

  /** Beside the ticks: a list that is slow to come holds up nothing. */
  async #askHot(): Promise<number> {
    const { tickMs } = this.#settings;
    if (await this.#hot.refresh()) this.#tickLoop.wake();
    return tickMs * (1 - 0.1 * this.#seams.random.fraction());
  }

  /** Of a fleet without queue workers, too, somebody has to remove what is old. */
  async #housekeep(): Promise<number> {
    const { housekeep, random } = this.#seams;
    await housekeep?.();
    return housekeep === null
      ? Number.POSITIVE_INFINITY
      : defaults.housekeepingMs * (1 - 0.1 * random.fraction());
  }

  #refused(tenant: string, owner: string | null): NotOwnerError {
    this.#counts.refused++;
    this.#seams.events.emit("tenant:refused", { supervisor: this.name, tenant, owner });
    return new NotOwnerError(tenant, owner);
  }

  #dispatchParts(): DispatchParts {
    const { clock, ownership } = this.#seams;
    return {
      clock,
      ownership,
      run: (tenant, task) => this.#tasks.run(tenant, task),
      hotOwnerOf: (tenant) => this.#tick.hotOwnerOf(tenant),
    };
  }

  #onDoubt(): void {
    this.#runs.doubt();
    this.#tickLoop.wake();
  }

  #onSuperseded(): void {
    this.#runs.endAll("evicted");
    this.#tasks.endAll("evicted");
    void this.stop("another process has its id");
  }

  /** Ends by the deadline, whatever the database and hot() do. What could not be told by then is left to the TTL. */
  async #drain(why: string, end: Deadline): Promise<void> {
    const { ownership, clock, events } = this.#seams;
    const { drainLimitMs, name } = this.#settings;
    const { tenantLetGoMs } = defaults;
    this.#state = "draining";
    const { workerId } = ownership;
    const queue = `tenants:${name}`;
    events.emit("worker:draining", { workerId, queue, running: this.#runs.running.length, why });
    const left = ownership.leave().catch(() => {});
    const idle = new AbortController();
    this.#tasks.close(() => idle.abort());
    const housekeeping = this.#housekeepingLoop.stop();
    void this.#hotLoop.stop(); // What hot() says now is of no use.
    const first = new Deadline(clock, tenantLetGoMs);
    const hasTicked = await first.wait(this.#tickLoop.stop().then(() => this.#turn.run(async () => {}))); // A promotion may be under way.
    if (hasTicked) await first.wait(this.#nameHeirs());
    this.#runs.shut();
    this.#runs.endAll("drain");
    const empty = new AbortController();
    this.#runs.onceEmpty(() => empty.abort());
    const endMs = Math.min(drainLimitMs + tenantLetGoMs, end.leftMs);
    await Promise.all([clock.sleep(endMs, idle.signal), clock.sleep(endMs, empty.signal)]);
    await end.wait(Promise.allSettled([left, this.#runs.close()]));
    const last = new Deadline(clock, Math.min(tenantLetGoMs, end.leftMs));
    const freed = this.#letGoAll();
    const isClean = (await last.wait(freed)) && (await freed) && this.#tasks.size === 0;
    // A round may be long; what it has not done is done by somebody else.
    await last.wait(housekeeping);
    await end.wait(ownership.finish(isClean));
    this.#end();
    events.emit("worker:stopped", { workerId, queue, isClean });
  }

  /**
   * Gives up whatever the rows still say is ours: a win or a release whose answer was lost. A process that goes on as a queue worker stays alive, so nobody else ever could. Tries for a
   * while, also when nobody waits for it any more.
   */
  async #letGoAll(): Promise<boolean> {
    const { ownership, clock } = this.#seams;
    for (let tries = 0; tries < defaults.tenantLetGoTriesMax; tries++) {
      try {
        const own = await ownership.own();
        if (own.length > 0) await ownership.free(own);
        return true;
      } catch {
        await clock.sleep(defaults.tenantGapMs);
      }
    }
    return false;
  }

  /** Says who is to go on, if the database can be asked; otherwise everybody is told when the leases are given up. */
  async #nameHeirs(): Promise<void> {
    const { ownership } = this.#seams;
    const running = this.#runs.running;
    if (running.length === 0) return;
    try {
      const heirs = await this.#tick.heirs();
      const held = running.map(({ tenant, token }) => ({ tenant, token, heir: heirs.get(tenant) ?? null }));
      await ownership.drain(held, this.#settings.drainLimitMs);
    } catch {
      // They are found by the next tick of the others.
    }
  }

  #end(): void {
    this.#state = "stopped";
    for (const detach of this.#detach) detach();
    this.#detach = [];
  }

  #mustWork(what: string): void {
    if (this.#state !== "working")
      throw new WorkerStateError(
        `The supervisor ${this.name} is ${this.#state}; ${what} needs a started one.`,
      );
  }
}
