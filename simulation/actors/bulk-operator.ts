import type { Queue } from "../../src/index.js";
import type { Dice } from "../dice.js";
import { queueName } from "../engine/variants.js";
import type { World } from "../world/world.js";
import type { Fleet } from "./fleet.js";
import type { Plan } from "./plan.js";

const everyMs = { least: 500, most: 4_000 } as const;

/** A script that redrives and discards all there is of a sort, again and again, while work goes on. */
export class BulkOperator {
  readonly #world: World;
  readonly #plan: Plan;
  readonly #fleet: Fleet;
  readonly #dice: Dice;
  #isCalm = false;
  #isDone = true;

  constructor(world: World, plan: Plan, parts: { readonly fleet: Fleet; readonly dice: Dice }) {
    this.#world = world;
    this.#plan = plan;
    this.#fleet = parts.fleet;
    this.#dice = parts.dice;
  }

  /** Nothing that it asked for is on its way. */
  get isDone(): boolean {
    return this.#isDone;
  }

  start(): void {
    this.#isDone = false;
    void this.#run().finally(() => {
      this.#isDone = true;
    });
  }

  calmDown(): void {
    this.#isCalm = true;
  }

  async #run(): Promise<void> {
    const { lh, clock, process } = this.#fleet.join("script");
    while (!this.#isCalm) {
      await clock.sleep(this.#dice.between(everyMs.least, everyMs.most));
      try {
        await this.#act(await lh.queue(queueName));
      } catch (error) {
        const what = error instanceof Error ? error.name : String(error);
        this.#world.trace.say(process.name, `   failed: ${what}`);
      }
    }
  }

  async #act(queue: Queue): Promise<void> {
    const partitionKey = `k${this.#dice.whole(1, this.#plan.keys)}`;
    const acts: readonly (() => Promise<number>)[] = [
      () => queue.retry({ status: "dead_letter" }),
      () => queue.retry({ status: "pending" }),
      () => queue.retry({ partitionKey }),
      () => queue.discard({ status: "dead_letter", reason: "all of them" }),
      () => queue.discard({ partitionKey, reason: "the whole key" }),
    ];
    await this.#dice.pick(acts)();
  }
}
