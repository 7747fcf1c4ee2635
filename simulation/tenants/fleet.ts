import type { Sessions } from "../../src/seams/session.js";
import { createTenantSupervisor, type TenantSupervisor } from "../../src/tenants.js";
import { type Member, makeMember } from "../actors/member.js";
import type { Dice } from "../dice.js";
import type { SimProcess } from "../world/process.js";
import { simSessions } from "../world/sessions.js";
import type { World } from "../world/world.js";
import type { TenantPlan } from "./plan.js";
import { startOf } from "./tenant.js";

export interface TenantMember extends Member {
  readonly workerId: string;
  supervisor: TenantSupervisor<void> | null;
  isDraining: boolean;
}

const startAgainMs = 700;
/** Of calls of hot(), that throw. */
const hotFailShare = 0.02;
const hotFailsAfterMs = 60_000;

/** The processes of one simulation, each with a supervisor. */
export class TenantFleet {
  readonly #world: World;
  readonly #plan: TenantPlan;
  readonly #dice: Dice;
  readonly #born = new Map<string, number>();
  readonly #homes = new Map<string, string>();
  readonly #members = new Set<TenantMember>();

  constructor(world: World, plan: TenantPlan, dice: Dice) {
    this.#world = world;
    this.#plan = plan;
    this.#dice = dice;
  }

  /** Those that have not ended. */
  get members(): readonly TenantMember[] {
    return [...this.#members];
  }

  isLive(workerId: string): boolean {
    return this.members.some((member) => member.workerId === workerId && !member.isDraining);
  }

  /** A process without a supervisor, for an operator. */
  join(name: string): Member {
    const { heartbeatMs, ttlMs, regions, hasSessions } = this.#plan;
    const count = (this.#born.get(name) ?? 0) + 1;
    this.#born.set(name, count);
    return makeMember(this.#world, {
      ...{ name: `${name}#${count}`, workerId: name, heartbeatMs, ttlMs },
      ...(regions.length === 0 ? {} : { region: this.#homeOf(name) }),
      rate: this.#dice.between(0.97, 1.03),
      sessionsOf: hasSessions ? simSessions : pooledSessions,
    });
  }

  start(workerId: string): TenantMember {
    const member: TenantMember = { ...this.join(workerId), workerId, supervisor: null, isDraining: false };
    const { name } = member.process;
    this.#members.add(member);
    this.#world.trace.say(name, "   is started");
    this.#world.note({ is: "joined", atMs: this.#world.schedule.nowMs, process: name });
    this.#noteShared(workerId);
    member.events.on("worker:stopped", () => this.#end(member, "stopped"));
    member.events.on("session:opened", ({ isLocked }) => {
      if (isLocked) for (const what of ["session", "session, unnoticed"]) this.#world.healed(name, what);
    });
    member.events.on("tenant:stopped", ({ tenant, token, reason, isStuck }) => {
      const atMs = this.#world.schedule.nowMs;
      this.#world.trace.say(
        name,
        `   ${tenant} stopped under ${token}: ${reason}${isStuck ? ", stuck" : ""}`,
      );
      this.#world.note({
        is: "tenant",
        what: "stopped",
        ...{ atMs, process: name, tenant, token, reason, isStuck },
      });
    });
    void this.#start(member);
    return member;
  }

  /** Kills a process where it stands. */
  kill(member: TenantMember): void {
    if (!this.#members.has(member)) return;
    member.process.die();
    this.#end(member, "killed");
  }

  /** Asks it to drain, as a deploy does. */
  drain(member: TenantMember): void {
    if (member.isDraining) return;
    member.isDraining = true;
    this.#world.hit(member.process.name, "draining");
    member.process.deliver(() => {
      if (member.supervisor === null) this.kill(member);
      else void member.supervisor.stop("a deploy").catch(() => {});
    });
  }

  async #start(member: TenantMember): Promise<void> {
    const { tickMs, drainLimitMs } = this.#plan;
    const dice = member.process.dice.fork("hot");
    const start = startOf(this.#world, this.#plan, member);
    const hot = async () => {
      if (this.#world.schedule.nowMs > hotFailsAfterMs && dice.chance(hotFailShare))
        throw new Error("told to fail");
      return this.#plan.tenants;
    };
    for (;;) {
      const options = { fleet: true, hot, start, tickMs, drainLimitMs, handlesSignals: false };
      const supervisor = createTenantSupervisor<void>(member.lh, options);
      try {
        await supervisor.start();
        member.supervisor = supervisor;
        return;
      } catch {
        await member.clock.sleep(startAgainMs);
      }
    }
  }

  /** Whoever is started again under its id is where it was. */
  #homeOf(name: string): string {
    const home = this.#homes.get(name) ?? this.#dice.pick(this.#plan.regions);
    this.#homes.set(name, home);
    return home;
  }

  #end(member: TenantMember, what: string): void {
    if (!this.#members.delete(member)) return;
    member.process.die();
    this.#world.gone(member.process, what);
    this.#noteShared(member.workerId);
  }

  /** Two processes of one id disturb each other until the older one finds out. */
  #noteShared(workerId: string): void {
    const sharing = [...this.#members].filter((member) => member.workerId === workerId);
    for (const { process } of sharing) {
      if (sharing.length > 1) this.#world.hit(process.name, "shares its id");
      else this.#world.healed(process.name, "shares its id");
    }
  }
}

/** As through a pooler: the process that answers is not the one that was announced. */
function pooledSessions(process: SimProcess): Sessions {
  return {
    async open(listener) {
      const session = await simSessions(process).open(listener);
      return {
        announcedPid: null,
        run: (query) => session.run(query),
        listen: (channel) => session.listen(channel),
        close: () => session.close(),
      };
    },
  };
}
