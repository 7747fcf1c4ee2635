import type { Dice } from "../dice.js";
import type { World } from "../world/world.js";

const everyMs = { least: 1_000, most: 10_000 } as const;
/** How far the server's clock is off at most, either way. */
export const clockOffsetMsMax = 20_000;

/** Sets the database's clock forward and back. */
export class ClockSetter {
  readonly #world: World;
  readonly #dice: Dice;
  #isCalm = false;
  #faults = 0;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  get faults(): number {
    return this.#faults;
  }

  start(): void {
    this.#world.schedule.after(this.#dice.between(everyMs.least, everyMs.most), () => {
      if (this.#isCalm) return;
      this.#faults++;
      this.#world.hit("*", "clock set");
      this.#world.engine.clock.offsetMs = this.#dice.whole(-clockOffsetMsMax, clockOffsetMsMax);
      this.#world.healed("*", "clock set");
      this.start();
    });
  }

  calmDown(): void {
    this.#isCalm = true;
  }
}
