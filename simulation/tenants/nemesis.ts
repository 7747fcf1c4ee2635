import { Harm } from "../actors/harm.js";
import type { Dice } from "../dice.js";
import type { World } from "../world/world.js";
import type { TenantFleet, TenantMember } from "./fleet.js";
import type { TenantOperator } from "./operator.js";
import type { TenantPlan } from "./plan.js";

const keepUpMs = 2_000;
const fewest = 2;
const most = 6;
const flapMs = 5_000;
/** From its crash to its next start: before it was noticed, or after. */
const flapDownMs = { least: 50, most: 3_000 };

export interface TenantNemesisParts {
  readonly fleet: TenantFleet;
  readonly operator: TenantOperator;
  readonly dice: Dice;
}

/** Does to the fleet what machines, networks, deploys and people do. */
export class TenantNemesis {
  readonly #world: World;
  readonly #plan: TenantPlan;
  readonly #fleet: TenantFleet;
  readonly #operator: TenantOperator;
  readonly #dice: Dice;
  readonly #harm: Harm;
  #isCalm = false;
  #isOver = false;
  #faults = 0;
  #added = 0;

  constructor(world: World, plan: TenantPlan, parts: TenantNemesisParts) {
    this.#world = world;
    this.#plan = plan;
    this.#fleet = parts.fleet;
    this.#operator = parts.operator;
    this.#dice = parts.dice;
    this.#harm = new Harm(world, parts.dice);
  }

  get faults(): number {
    return this.#faults;
  }

  start(): void {
    const { flaps } = this.#plan;
    if (flaps === null) this.#next();
    else this.#world.schedule.after(flaps.fromMs, () => this.#flap(flaps.untilMs));
    this.#keepUp();
  }

  /** No more of it, and everybody who lives is well again. */
  calmDown(): void {
    this.#isCalm = true;
    this.#harm.calmDown();
  }

  /** From now on nobody is started again. */
  end(): void {
    this.#isOver = true;
  }

  /** Whoever runs processes sees to it that there are some. */
  #keepUp(): void {
    if (this.#isOver) return;
    const live = this.#fleet.members.filter((member) => !member.isDraining);
    if (live.length < fewest) this.#add();
    this.#world.schedule.after(keepUpMs, () => this.#keepUp());
  }

  #next(): void {
    const waitMs = this.#dice.between(0.1, 1.9) * this.#plan.faultEveryMs;
    this.#world.schedule.after(waitMs, () => {
      if (this.#isCalm) return;
      this.#strike();
      this.#next();
    });
  }

  #strike(): void {
    this.#faults++;
    const dice = this.#dice;
    const { members } = this.#fleet;
    if (members.length === 0) return;
    const member = dice.pick(members);
    const { process } = member;
    const { ttlMs, hasSessions } = this.#plan;
    const acts: readonly (() => void)[] = [
      () => this.#add(),
      () => this.#kill(member),
      () => this.#kill(member),
      () => this.#drain(member),
      () => this.#harm.freeze(process, dice.between(50, ttlMs * 0.9)),
      () => this.#harm.freeze(process, dice.between(ttlMs * 1.01, ttlMs * 3)),
      () => this.#operator.evict(member),
      () => this.#operator.evict(member),
      () => this.#replace(member),
      () => (hasSessions ? this.#breakSession(member) : this.#kill(member)),
      () => this.#harm.cutOff(process, dice.between(100, ttlMs * 2)),
      () => this.#unplug(member),
      () => this.#harm.slowDown(process),
      () => this.#rarely(),
    ];
    dice.pick(acts)();
  }

  #rarely(): void {
    const dice = this.#dice;
    if (dice.chance(0.4)) this.#world.restartServer(dice.between(20, 10_000));
    else if (this.#fleet.members.length > 0) this.#setClock(dice.pick(this.#fleet.members));
  }

  /** A time of day that is set ahead ends its tenants, so the history has to tell of it. */
  #setClock({ process, clock }: TenantMember): void {
    this.#world.hit(process.name, "clock set");
    clock.offsetMs = this.#dice.between(-600_000, 600_000);
    this.#world.healed(process.name, "clock set");
  }

  #add(): void {
    if (this.#fleet.members.length >= most) return;
    this.#added++;
    this.#fleet.start(`n${this.#added}`);
  }

  /** Most are started again under the same id, soon or late; some under another. */
  #kill(member: TenantMember): void {
    this.#fleet.kill(member);
    this.#startAgain(member.workerId);
  }

  #drain(member: TenantMember): void {
    this.#fleet.drain(member);
    this.#startAgain(member.workerId);
  }

  #startAgain(workerId: string): void {
    const dice = this.#dice;
    if (dice.chance(0.1)) return;
    const isSame = dice.chance(0.8);
    const waitMs = dice.chance(0.5) ? dice.between(10, 3_000) : dice.between(3_000, 60_000);
    this.#world.schedule.after(waitMs, () => {
      if (this.#isCalm) return;
      if (!isSame) this.#add();
      else if (!this.#fleet.isLive(workerId)) this.#fleet.start(workerId);
    });
  }

  /** Somebody takes a frozen process for dead and starts another in its place, under the same id. */
  #replace({ process, workerId }: TenantMember): void {
    this.#harm.freeze(process, this.#dice.between(200, this.#plan.ttlMs * 2));
    this.#fleet.start(workerId);
  }

  /** Until it has another: it tells. When only the server knows, the process finds out later than others may. */
  #breakSession({ process }: TenantMember): void {
    if (process.sessions.size === 0) return;
    const how = this.#harm.breakSession(process);
    this.#world.hit(process.name, how === "server" ? "session, unnoticed" : "session");
  }

  /** Both sides know that the session is gone, and the process can tell nobody: all it has is the grace. */
  #unplug({ process }: TenantMember): void {
    if (process.sessions.size > 0) {
      this.#harm.breakSession(process, "both");
      this.#world.hit(process.name, "session");
    }
    this.#harm.cutOff(process, this.#dice.between(100, this.#plan.ttlMs * 2));
  }

  /** Crashes and comes back, over and over. */
  #flap(untilMs: number): void {
    const { workerId } = this.#dice.pick(this.#fleet.members);
    const downMs = this.#dice.between(flapDownMs.least, flapDownMs.most);
    this.#world.hit(workerId, "flaps");
    const again = (): void => {
      this.#faults++;
      const member = this.#fleet.members.find((one) => one.workerId === workerId);
      if (this.#world.schedule.nowMs >= untilMs) {
        this.#world.healed(workerId, "flaps");
        this.#next();
        return;
      }
      if (member !== undefined) this.#fleet.kill(member);
      this.#world.schedule.after(downMs, () => void this.#fleet.start(workerId));
      this.#world.schedule.after(flapMs, again);
    };
    again();
  }
}
