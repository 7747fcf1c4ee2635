import type { Dice } from "../dice.js";
import { SimSession } from "../world/sessions.js";
import type { World } from "../world/world.js";
import type { Fleet, WorkerMember } from "./fleet.js";
import type { Plan } from "./plan.js";

const keepUpMs = 1_000;

/** Does to the fleet what machines, networks and people do. */
export class Nemesis {
  readonly #world: World;
  readonly #plan: Plan;
  readonly #fleet: Fleet;
  readonly #dice: Dice;
  /** How many faults of a sort a process suffers from at a time: the last to end ends them. */
  readonly #lasting = new Map<string, number>();
  #isCalm = false;
  #isOver = false;
  #faults = 0;

  constructor(world: World, plan: Plan, parts: { readonly fleet: Fleet; readonly dice: Dice }) {
    this.#world = world;
    this.#plan = plan;
    this.#fleet = parts.fleet;
    this.#dice = parts.dice;
  }

  get faults(): number {
    return this.#faults;
  }

  start(): void {
    this.#next();
  }

  /** No more of it, and everybody who lives is well again. */
  calmDown(): void {
    this.#isCalm = true;
    const { weather, processes } = this.#world;
    weather.lostShare = 0;
    weather.slowShare = 0;
    for (const process of processes) {
      process.link.isCut = false;
      process.link.slowness = 1;
      process.thaw();
      process.onWayHealed();
      for (const what of ["frozen", "cut off", "slow", "session"]) this.#world.healed(process.name, what);
    }
    this.#keepUp();
  }

  /** From now on nobody is started again. */
  end(): void {
    this.#isOver = true;
  }

  /** What crashes is started again, as whoever runs processes does. */
  #keepUp(): void {
    if (this.#isOver) return;
    for (const id of ["a", "b"]) if (!this.#isLive(id)) this.#fleet.startWorker(id);
    this.#world.schedule.after(keepUpMs, () => this.#keepUp());
  }

  #next(): void {
    const waitMs = this.#dice.between(0.3, 1.7) * this.#plan.faultEveryMs;
    this.#world.schedule.after(waitMs, () => {
      if (this.#isCalm) return;
      this.#strike();
      this.#next();
    });
  }

  #strike(): void {
    this.#faults++;
    const dice = this.#dice;
    const { workers } = this.#fleet;
    if (workers.length === 0 || dice.chance(0.1)) {
      this.#add();
      return;
    }
    const member = dice.pick(workers);
    const acts: readonly (() => void)[] = [
      () => this.#kill(member),
      () => this.#fleet.drain(member),
      () => this.#freeze(member, dice.between(50, this.#plan.leaseMs * 1.5)),
      () => this.#freeze(member, dice.between(this.#plan.ttlMs, this.#plan.ttlMs * 3)),
      () => this.#replace(member),
      () => this.#breakSession(member),
      () => this.#cutOff(member),
      () => this.#slowDown(member),
      () => this.#world.restartServer(dice.between(20, 3_000)),
      () => {
        member.clock.offsetMs = dice.between(-600_000, 600_000);
      },
    ];
    dice.pick(acts)();
  }

  #isLive(workerId: string): boolean {
    return this.#fleet.workers.some(
      (member) => member.workerId === workerId && member.worker?.state !== "draining",
    );
  }

  #add(): void {
    const id = this.#dice.pick(["a", "b", "c", "d"]);
    if (!this.#fleet.workers.some((member) => member.workerId === id)) this.#fleet.startWorker(id);
  }

  /** Most are started again, under the same id. */
  #kill(member: WorkerMember): void {
    this.#fleet.kill(member);
    if (!this.#dice.chance(0.8)) return;
    this.#world.schedule.after(this.#dice.between(10, 3_000), () => {
      if (!this.#isCalm && !this.#isLive(member.workerId)) this.#fleet.startWorker(member.workerId);
    });
  }

  #freeze(member: WorkerMember, ms: number): void {
    const { process } = member;
    process.freeze();
    this.#during(member, "frozen", ms, () => process.thaw());
  }

  /** Somebody takes a frozen process for dead and starts another in its place, under the same id. */
  #replace(member: WorkerMember): void {
    this.#freeze(member, this.#dice.between(200, this.#plan.ttlMs * 2));
    this.#fleet.startWorker(member.workerId);
  }

  #breakSession(member: WorkerMember): void {
    const how = this.#dice.pick(["both", "client", "server"] as const);
    for (const session of [...member.process.sessions]) if (session instanceof SimSession) session.break(how);
    this.#during(member, "session", this.#plan.ttlMs * 2, () => {});
  }

  #cutOff(member: WorkerMember): void {
    const { link } = member.process;
    link.isCut = true;
    this.#during(member, "cut off", this.#dice.between(100, this.#plan.ttlMs * 3), () => {
      link.isCut = false;
    });
  }

  #slowDown(member: WorkerMember): void {
    const { link } = member.process;
    link.slowness = this.#dice.pick([20, 200, 1_000]);
    this.#during(member, "slow", this.#dice.between(500, 8_000), () => {
      link.slowness = 1;
    });
  }

  #during(member: WorkerMember, what: string, ms: number, end: () => void): void {
    const { name } = member.process;
    this.#world.hit(name, what);
    const fault = `${name} ${what}`;
    this.#lasting.set(fault, (this.#lasting.get(fault) ?? 0) + 1);
    this.#world.schedule.after(ms, () => {
      const others = (this.#lasting.get(fault) ?? 0) - 1;
      this.#lasting.set(fault, others);
      if (others > 0 && !this.#isCalm) return;
      end();
      this.#world.healed(name, what);
    });
  }
}
