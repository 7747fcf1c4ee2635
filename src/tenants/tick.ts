import type { Events } from "../events.js";
import type { InTurn } from "../runtime/in-turn.js";
import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import { coldOwner } from "./assign.js";
import { type Decisions, decide, type TickView } from "./decide.js";
import type { HotSet } from "./hot-set.js";
import type { HeldTenant, TenantLease } from "./lease.js";
import type { TenantCounts } from "./metrics.js";
import { Opinions } from "./opinions.js";
import type { Ownership } from "./ownership.js";
import type { Runs } from "./runs.js";
import type { TenantSettings } from "./tenant-settings.js";

export interface TickSeams {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
}

export interface TickParts<S> {
  readonly ownership: Ownership;
  readonly settings: TenantSettings;
  readonly hot: HotSet;
  readonly runs: Runs<S>;
  readonly counts: TenantCounts;
  /** A task runs for it here. */
  isWorkedFor(tenant: string): boolean;
  /** It is hot now: what works for it is to make room. */
  endTask(tenant: string): void;
  /** Ticks, promotions and the winning of tasks go one after another. */
  readonly turn: InTurn;
}

/** Shares the tenants out: reads who has what, ends what should run elsewhere, wins and starts what should run here. */
export class Tick<S> {
  readonly #seams: TickSeams;
  readonly #parts: TickParts<S>;
  readonly #opinions: Opinions;
  #passedAtMs = Number.NEGATIVE_INFINITY;
  /** When what is stuck here was last given to somebody else. */
  readonly #passedOnAtMs = new Map<string, number>();
  #targets: ReadonlyMap<string, string> = new Map();
  #leases: ReadonlyMap<string, TenantLease> = new Map();

  constructor(seams: TickSeams, parts: TickParts<S>) {
    this.#seams = seams;
    this.#parts = parts;
    this.#opinions = new Opinions(parts.settings.tickMs * defaults.tenantSettledShare);
  }

  /** One pass; returns when the next one is due. */
  async run(): Promise<number> {
    return await this.#parts.turn.run(async () => {
      // Many wakes in a row, as when a large fleet changes hands, are for one pass.
      const { clock } = this.#seams;
      const waitMs = this.#passedAtMs + defaults.tenantPassGapMs - clock.monotonicMs();
      if (waitMs > 0) await clock.sleep(Math.min(waitMs, this.#parts.settings.tickMs));
      const delayMs = await this.#pass();
      this.#passedAtMs = clock.monotonicMs();
      return delayMs;
    });
  }

  /** Who has the tenant, or would get it, as of the last pass. */
  ownerOf(tenant: string): string | null {
    const { ownership, runs } = this.#parts;
    if (runs.get(tenant) !== undefined) return ownership.workerId;
    const lease = this.#leases.get(tenant);
    if (lease?.state === "running" && !lease.isLost && !lease.isMine) return lease.owner;
    return this.#targets.get(tenant) ?? this.coldOwnerOf(tenant, null);
  }

  /** Null for a tenant that is not hot. */
  hotOwnerOf(tenant: string): { readonly owner: string | null } | null {
    const lease = this.#leases.get(tenant);
    const isHot =
      this.#parts.runs.get(tenant) !== undefined ||
      this.#parts.hot.current.has(tenant) ||
      (lease !== undefined && lease.source !== "task");
    return isHot ? { owner: this.ownerOf(tenant) } : null;
  }

  coldOwnerOf(tenant: string, region: string | null): string | null {
    return coldOwner({ tenant, region }, this.#parts.ownership.members());
  }

  /** Who would go on with what runs here if this process were gone. */
  async heirs(): Promise<ReadonlyMap<string, string>> {
    const { ownership } = this.#parts;
    const others = ownership.members().filter(({ id }) => id !== ownership.workerId);
    const leases = (await ownership.list()).map((lease) =>
      lease.isMine ? { ...lease, owner: null } : lease,
    );
    return decide({ ...this.#view(leases), members: others, isHotKnown: false }).targets;
  }

  async #pass(): Promise<number> {
    const { events, random } = this.#seams;
    const { ownership, settings, hot, runs, counts } = this.#parts;
    const { tickMs, name: supervisor } = settings;
    if (ownership.sureForMs() <= 0) return Math.min(tickMs, defaults.tenantGapMs);
    const leases = await ownership.list();
    const view = this.#view(leases);
    const decisions = decide(view);
    this.#leases = decisions.leases;
    this.#targets = decisions.targets;
    for (const { tenant, isMine, source } of leases)
      if (isMine && source === "task" && hot.current.has(tenant)) this.#parts.endTask(tenant);
    const moving = await this.#end(decisions);
    const { won, holdMs } = await this.#win(view, decisions);
    counts.ticks++;
    counts.waiting = Math.max(0, decisions.waiting - won);
    const figures = { hot: decisions.targets.size, running: runs.running.length, won, moving };
    events.emit("tenants:shared", { supervisor, ...figures, waiting: counts.waiting });
    if (holdMs > 0) return Math.min(holdMs, tickMs);
    const isRestless = counts.waiting > 0 || won < decisions.win.length;
    const delayMs =
      Math.min(isRestless ? defaults.tenantGapMs : tickMs, tickMs) * (1 - 0.1 * random.fraction());
    return Math.min(delayMs, ownership.settlesInMs());
  }

  #view(leases: readonly TenantLease[]): TickView {
    const { ownership, hot, runs } = this.#parts;
    const nowMs = this.#seams.clock.monotonicMs();
    const members = ownership.members();
    return {
      workerId: ownership.workerId,
      members,
      leases,
      hot: hot.current,
      isHotKnown: hot.isKnown,
      isIdle: (tenant) => hot.isIdle(tenant, runs.get(tenant)?.beganAtMs ?? nowMs),
      running: new Map(runs.running.map(({ tenant, token }) => [tenant, token])),
      isBusy: (tenant) =>
        (runs.isBusy(tenant) && !(members.length > 1 && this.#mayPassOn(tenant, nowMs))) ||
        this.#parts.isWorkedFor(tenant),
    };
  }

  /** Ends what is lost, cold or has to move, and gives up what is held for nothing. Returns how many move. */
  async #end(decisions: Decisions): Promise<number> {
    const { ownership, settings, runs, counts } = this.#parts;
    const nowMs = this.#seams.clock.monotonicMs();
    const endAll = (tenants: Iterable<string>, reason: "evicted" | "idle" | "ownership-change"): void => {
      for (const tenant of tenants) {
        const run = runs.get(tenant);
        this.#opinions.forget(tenant);
        if (run !== undefined) void runs.end(run, reason, reason !== "idle");
      }
    };
    const generations = new Map(ownership.registrations().map(({ id, generation }) => [id, generation]));
    endAll(decisions.lost, "evicted");
    endAll(decisions.cool, "idle");
    for (const tenant of decisions.stay) this.#opinions.forget(tenant);
    if (decisions.keep.length > 0) await ownership.keep(decisions.keep);
    const joined = ownership.joined();
    const ripe = [...decisions.move]
      .filter(([tenant, target]) => {
        // Registered again it may be another process: that is another opinion.
        const isAgreed = this.#opinions.isRipe(tenant, `${target} ${generations.get(target)}`, nowMs);
        return isAgreed || joined.has(target); // A join is no flap, and settling was enough.
      })
      .flatMap(([tenant, heir]) => {
        const run = runs.get(tenant);
        return run === undefined ? [] : [{ tenant, token: run.token, heir }];
      });
    if (ripe.length > 0) await ownership.drain(ripe, settings.drainLimitMs);
    counts.moves += ripe.length;
    endAll(
      ripe.map(({ tenant }) => tenant),
      "ownership-change",
    );
    if (decisions.release.length > 0) await ownership.free(decisions.release);
    if (decisions.passOn.length > 0) {
      const won = await ownership.win(decisions.passOn);
      const held = decisions.passOn.map((one) => ({ ...one, token: won.get(one.tenant) ?? 0n }));
      await this.#passOn(held.filter(({ token }) => token > 0n));
    }
    if (decisions.tidy.length > 0) await ownership.drop(decisions.tidy);
    return decisions.move.size;
  }

  /** While everybody is new, a fleet waits a moment for those that are still starting. */
  async #win(view: TickView, { win }: Decisions): Promise<{ readonly won: number; readonly holdMs: number }> {
    const { ownership, settings, runs, counts } = this.#parts;
    if (win.length === 0) return { won: 0, holdMs: 0 };
    const holdMs = settings.startupMs - ownership.aliveMs();
    if (holdMs > 0 && !view.members.some((member) => member.isSettled)) return { won: 0, holdMs };
    const won = await ownership.win(win);
    const lost = new Set(view.leases.filter(({ isLost }) => isLost).map(({ tenant }) => tenant));
    const stuck: HeldTenant[] = [];
    for (const [tenant, token] of won) {
      if (lost.has(tenant)) counts.takeovers++;
      if (runs.isStuck(tenant)) stuck.push({ tenant, token });
      else runs.begin(tenant, token);
    }
    const others = view.members.filter(({ id }) => id !== view.workerId);
    // What is stuck here would wait for itself; somebody else is to have it.
    // Anybody else: whoever the scores name may be stuck with it, too.
    const heir = others[Math.floor(this.#seams.random.fraction() * others.length)]?.id ?? null;
    for (const { tenant } of stuck) this.#passedOnAtMs.set(tenant, this.#seams.clock.monotonicMs());
    await this.#passOn(stuck.map((one) => ({ ...one, heir })));
    return { won: won.size - stuck.length, holdMs: 0 };
  }

  #mayPassOn(tenant: string, nowMs: number): boolean {
    if (!this.#parts.runs.isStuck(tenant)) {
      this.#passedOnAtMs.delete(tenant);
      return false;
    }
    return nowMs - (this.#passedOnAtMs.get(tenant) ?? Number.NEGATIVE_INFINITY) >= defaults.tenantGapMs;
  }

  /** Gives up what was won for somebody else, who is woken. */
  async #passOn(held: readonly (HeldTenant & { readonly heir: string | null })[]): Promise<void> {
    const { ownership, settings } = this.#parts;
    if (held.length === 0) return;
    await ownership.drain(held, settings.drainLimitMs);
    await ownership.free(held);
  }
}
