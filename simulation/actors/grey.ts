import type { Dice } from "../dice.js";
import type { World } from "../world/world.js";
import type { Fleet } from "./fleet.js";

/** What a process that is half ill can't do, while all else works: what it is called, and which statements fail. */
const illnesses = [
  { what: "claims fail", refused: /claim_(jobs|woken)/ },
  { what: "settles fail", refused: /(complete|settle)_jobs/ },
  { what: "completions fail", refused: /complete_jobs/ },
  { what: "renewals fail", refused: /renew_jobs/ },
] as const;

const everyMs = { least: 500, most: 6_000 } as const;
const lastsMs = { least: 200, most: 25_000 } as const;

/** Makes workers half ill: they live, beat and hold their sessions, and the database refuses one sort of their statements. Each is well again after a while. */
export class GreyFailures {
  readonly #world: World;
  readonly #fleet: Fleet;
  readonly #dice: Dice;
  #isCalm = false;
  #faults = 0;

  constructor(world: World, parts: { readonly fleet: Fleet; readonly dice: Dice }) {
    this.#world = world;
    this.#fleet = parts.fleet;
    this.#dice = parts.dice;
  }

  get faults(): number {
    return this.#faults;
  }

  start(): void {
    this.#world.schedule.after(this.#dice.between(everyMs.least, everyMs.most), () => {
      if (this.#isCalm) return;
      this.#strike();
      this.start();
    });
  }

  calmDown(): void {
    this.#isCalm = true;
    for (const process of this.#world.processes) {
      process.refuses.clear();
      for (const { what } of illnesses) this.#world.healed(process.name, what);
    }
  }

  #strike(): void {
    const { workers } = this.#fleet;
    if (workers.length === 0) return;
    const { process } = this.#dice.pick(workers);
    const { what, refused } = this.#dice.pick(illnesses);
    const ms = this.#dice.between(lastsMs.least, lastsMs.most);
    if (process.refuses.has(refused)) return;
    this.#faults++;
    process.refuses.add(refused);
    this.#world.hit(process.name, what);
    this.#world.schedule.after(ms, () => {
      if (this.#isCalm || !process.refuses.delete(refused)) return;
      this.#world.healed(process.name, what);
    });
  }
}
