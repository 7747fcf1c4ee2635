import type { Events } from "../events.js";
import { Loop, type LoopSeams } from "../runtime/loop.js";
import { LetGo } from "./let-go.js";
import type { TenantCounts } from "./metrics.js";
import type { Ownership } from "./ownership.js";
import { type RunParts, TenantRun } from "./run.js";
import type { DemoteReason } from "./tenant.js";
import type { TenantSettings, TenantSupervisorOptions } from "./tenant-settings.js";

export interface RunsParts<S> {
  readonly ownership: Ownership;
  readonly settings: TenantSettings;
  readonly options: Pick<TenantSupervisorOptions<S>, "start" | "stop">;
  readonly counts: TenantCounts;
  /** Short tasks that hold leases, too. */
  tasks(): { readonly size: number; endAll(reason: string): void };
}

/** The tenants that this process runs, and those it is ending. A tenant stays here until its lease was given up. */
export class Runs<S> {
  readonly #events: Events;
  readonly #parts: RunsParts<S>;
  readonly #runParts: RunParts<S>;
  readonly #runs = new Map<string, TenantRun<S>>();
  readonly #stuck = new Set<string>();
  readonly #letGo: LetGo;
  readonly #letGoLoop: Loop;
  /** Ends when every sure lease does; so it sleeps as long as they last. */
  readonly #trustLoop: Loop;
  #onEmpty: () => void = () => {};
  #isShut = false;

  constructor(seams: LoopSeams, parts: RunsParts<S>) {
    this.#events = seams.events;
    this.#parts = parts;
    this.#letGo = new LetGo(parts.ownership);
    this.#letGoLoop = new Loop(seams, this.#letGo);
    this.#trustLoop = new Loop(seams, { name: "tenant-trust", run: async () => this.endUnsure() });
    this.#runParts = {
      clock: seams.clock,
      options: parts.options,
      isSure: () => parts.ownership.sureForMs() > 0,
      onUnsure: () => this.endUnsure(),
      onFailed: (run, error, againInMs) => this.#onFailed(run, error, againInMs),
      onThrew: ({ tenant }, error) =>
        this.#events.emit("tenant:threw", { supervisor: parts.settings.name, tenant, error }),
    };
  }

  /** Running and not ending. */
  get running(): readonly TenantRun<S>[] {
    return [...this.#runs.values()].filter((run) => !run.isEnding);
  }

  get size(): number {
    return this.#runs.size;
  }

  get(tenant: string): TenantRun<S> | undefined {
    const run = this.#runs.get(tenant);
    return run?.isEnding === true ? undefined : run;
  }

  /** Ending, or it did not end when it should have: nothing else may run for it here. */
  isBusy(tenant: string): boolean {
    return this.#runs.has(tenant) || this.#stuck.has(tenant);
  }

  /** It was given up and has not ended. */
  isStuck(tenant: string): boolean {
    return this.#stuck.has(tenant) && !this.#runs.has(tenant);
  }

  open(): void {
    this.#letGoLoop.start();
    this.#trustLoop.start();
  }

  async close(): Promise<void> {
    await Promise.all([this.#letGoLoop.stop(), this.#trustLoop.stop()]);
  }

  /** Starts nothing any more: an answer that comes after the drain finds the tenant given up. */
  shut(): void {
    this.#isShut = true;
  }

  /** Starts what was won; what is not sure any more goes back unstarted. */
  begin(tenant: string, token: bigint): boolean {
    const { ownership, settings } = this.#parts;
    if (this.#isShut || ownership.sureForMs() <= 0) {
      this.#giveUp({ tenant, token, staysHot: true, done: () => {} });
      return false;
    }
    const run = new TenantRun(this.#runParts, tenant, token);
    this.#runs.set(tenant, run);
    this.#trustLoop.wake();
    this.#events.emit("tenant:started", {
      workerId: ownership.workerId,
      supervisor: settings.name,
      tenant,
      token,
    });
    run.begin();
    return true;
  }

  /** Aborts at once; resolves when the lease was given up. Without `staysHot` the tenant is cold then. */
  async end(run: TenantRun<S>, reason: DemoteReason, staysHot: boolean): Promise<void> {
    if (run.isEnding) return;
    const { ownership, settings, counts } = this.#parts;
    const { tenant, token } = run;
    counts.demoted[reason]++;
    const isInTime = await run.end(reason, settings.drainLimitMs, () => this.#stuck.delete(tenant));
    if (!isInTime) {
      counts.stuck++;
      this.#stuck.add(tenant);
    }
    const { workerId } = ownership;
    const about = { workerId, supervisor: settings.name, tenant, token, reason, isStuck: !isInTime };
    this.#events.emit("tenant:stopped", about);
    await new Promise<void>((resolve) =>
      this.#giveUp({ tenant, token, staysHot, done: () => this.#gone(run, resolve) }),
    );
  }

  /** Ends everything when nobody can say that others do not run it by now. Returns when to ask again. */
  endUnsure(): number {
    const sureForMs = this.#parts.ownership.sureForMs();
    const tasks = this.#parts.tasks();
    if (sureForMs > 0) return this.#runs.size + tasks.size === 0 ? Number.POSITIVE_INFINITY : sureForMs;
    this.endAll("evicted");
    tasks.endAll("evicted");
    return Number.POSITIVE_INFINITY;
  }

  endAll(reason: DemoteReason): void {
    for (const run of this.running) void this.end(run, reason, true);
  }

  /** How long leases are sure has changed, or one more has to be watched. */
  doubt(): void {
    this.endUnsure();
    this.#trustLoop.wake();
  }

  /** Calls once, when nothing runs and every lease was given up. */
  onceEmpty(listener: () => void): void {
    this.#onEmpty = listener;
    if (this.#runs.size === 0) listener();
  }

  #giveUp(leaving: Parameters<LetGo["add"]>[0]): void {
    this.#letGo.add(leaving);
    this.#letGoLoop.wake();
  }

  #gone(run: TenantRun<S>, resolve: () => void): void {
    if (this.#runs.get(run.tenant) === run) this.#runs.delete(run.tenant);
    resolve();
    if (this.#runs.size === 0) this.#onEmpty();
  }

  #onFailed(run: TenantRun<S>, error: unknown, againInMs: number): void {
    const { counts, settings } = this.#parts;
    const { tenant, attempt } = run;
    counts.failures++;
    counts.demoted.error++;
    this.#events.emit("tenant:failed", { supervisor: settings.name, tenant, attempt, error, againInMs });
  }
}
