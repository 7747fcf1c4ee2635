import type { Dice } from "../dice.js";
import type { World } from "../world/world.js";
import { BulkOperator } from "./bulk-operator.js";
import { ClockSetter, clockOffsetMsMax } from "./clock-setter.js";
import type { Fleet } from "./fleet.js";
import { HandClaimer } from "./hand-claimer.js";
import { LateCommitter } from "./late-committer.js";
import type { Plan } from "./plan.js";

/** What surrounds a fleet and is no part of it: transactions that commit late, claims by hand, bulk actions, and, for some seeds, a server whose clock is set. */
export class Edges {
  readonly #claimer: HandClaimer;
  readonly #operator: BulkOperator;
  readonly #committer: LateCommitter | null;
  readonly #setter: ClockSetter | null;
  #isStarted = false;

  constructor(world: World, plan: Plan, parts: { readonly fleet: Fleet; readonly dice: Dice }) {
    const { fleet, dice } = parts;
    this.#claimer = new HandClaimer(world, plan, { fleet, dice: dice.fork("claimer") });
    this.#operator = new BulkOperator(world, plan, { fleet, dice: dice.fork("operator") });
    // In a strict queue the next enqueue of the key would wait for the commit, and in the simulation nobody waits for a lock.
    const isStrict = plan.variant.options.strict === true;
    this.#committer = isStrict
      ? null
      : new LateCommitter(world, plan, { fleet, dice: dice.fork("committer") });
    this.#setter = dice.chance(0.4) ? new ClockSetter(world, dice.fork("clock")) : null;
  }

  /** Every job has been sent. */
  get isDone(): boolean {
    return !this.#isStarted || this.#committer === null || this.#committer.isDone;
  }

  /** After calmDown(): nothing more comes of it. */
  get isQuiet(): boolean {
    return this.#operator.isDone;
  }

  get faults(): number {
    return this.#setter?.faults ?? 0;
  }

  /** How far the server's clock was off at most. */
  get clockOffsetMsMax(): number {
    return this.faults > 0 ? clockOffsetMsMax : 0;
  }

  start(): void {
    this.#isStarted = true;
    this.#claimer.start();
    this.#operator.start();
    this.#committer?.start();
    this.#setter?.start();
  }

  calmDown(): void {
    this.#claimer.calmDown();
    this.#operator.calmDown();
    this.#setter?.calmDown();
  }
}
