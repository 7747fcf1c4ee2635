import type { Dice } from "../dice.js";
import type { SimProcess } from "../world/process.js";
import { type Break, SimSession } from "../world/sessions.js";
import type { World } from "../world/world.js";

/** What can be done to a process, and is written down while it lasts. */
export class Harm {
  readonly #world: World;
  readonly #dice: Dice;
  /** How many faults of a sort a process suffers from at a time: the last to end ends them. */
  readonly #lasting = new Map<string, number>();
  #isCalm = false;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  /** Everybody who lives is well again. */
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
  }

  freeze(process: SimProcess, ms: number): void {
    process.freeze();
    this.during(process, "frozen", ms, () => process.thaw());
  }

  cutOff(process: SimProcess, ms: number): void {
    process.link.isCut = true;
    this.during(process, "cut off", ms, () => {
      process.link.isCut = false;
    });
  }

  slowDown(process: SimProcess): void {
    process.link.slowness = this.#dice.pick([20, 200, 1_000]);
    this.during(process, "slow", this.#dice.between(500, 8_000), () => {
      process.link.slowness = 1;
    });
  }

  /** Its sessions, if it has any, in one of three ways. */
  breakSession(
    process: SimProcess,
    how: Break = this.#dice.pick(["both", "client", "server"] as const),
  ): Break {
    for (const session of [...process.sessions]) if (session instanceof SimSession) session.break(how);
    return how;
  }

  during({ name }: SimProcess, what: string, ms: number, end: () => void): void {
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
