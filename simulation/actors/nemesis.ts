import type { Dice } from "../dice.js";
import type { World } from "../world/world.js";
import type { Fleet, WorkerMember } from "./fleet.js";
import { Harm } from "./harm.js";
import type { Plan } from "./plan.js";

const keepUpMs = 1_000;

/** Does to the fleet what machines, networks and people do. */
export class Nemesis {
  readonly #world: World;
  readonly #plan: Plan;
  readonly #fleet: Fleet;
  readonly #dice: Dice;
  readonly #harm: Harm;
  #isCalm = false;
  #isOver = false;
  #faults = 0;

  constructor(world: World, plan: Plan, parts: { readonly fleet: Fleet; readonly dice: Dice }) {
    this.#world = world;
    this.#plan = plan;
    this.#fleet = parts.fleet;
    this.#dice = parts.dice;
    this.#harm = new Harm(world, parts.dice);
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
    this.#harm.calmDown();
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
      () => this.#harm.freeze(member.process, dice.between(50, this.#plan.leaseMs * 1.5)),
      () => this.#harm.freeze(member.process, dice.between(this.#plan.ttlMs, this.#plan.ttlMs * 3)),
      () => this.#replace(member),
      () => this.#breakSession(member),
      () => this.#harm.cutOff(member.process, dice.between(100, this.#plan.ttlMs * 3)),
      () => this.#harm.slowDown(member.process),
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

  /** Somebody takes a frozen process for dead and starts another in its place, under the same id. */
  #replace({ process, workerId }: WorkerMember): void {
    this.#harm.freeze(process, this.#dice.between(200, this.#plan.ttlMs * 2));
    this.#fleet.startWorker(workerId);
  }

  #breakSession({ process }: WorkerMember): void {
    this.#harm.breakSession(process);
    this.#harm.during(process, "session", this.#plan.ttlMs * 2, () => {});
  }
}
