import type { Dice } from "../dice.js";
import { queueName } from "../engine/variants.js";
import { SimDatabase } from "../world/database.js";
import type { World } from "../world/world.js";
import type { Fleet } from "./fleet.js";
import type { Member } from "./member.js";
import { jobOf, type Plan } from "./plan.js";

const openMs = { least: 20, most: 3_000 } as const;

/** A program of the user's that enqueues in transactions of its own and commits them late, while others enqueue and work on the same keys. */
export class LateCommitter {
  readonly #world: World;
  readonly #plan: Plan;
  readonly #dice: Dice;
  readonly #fleet: Fleet;
  #isDone = false;

  constructor(world: World, plan: Plan, parts: { readonly fleet: Fleet; readonly dice: Dice }) {
    this.#world = world;
    this.#plan = plan;
    this.#dice = parts.dice;
    this.#fleet = parts.fleet;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  start(): void {
    void this.#run().finally(() => {
      this.#isDone = true;
    });
  }

  async #run(): Promise<void> {
    const member = this.#fleet.join("late");
    for (let sent = 0; sent < this.#plan.jobsPerProducer; sent++) {
      await member.clock.sleep(this.#dice.between(0, 800));
      try {
        await this.#enqueue(member);
      } catch (error) {
        const what = error instanceof Error ? error.name : String(error);
        this.#world.trace.say(member.process.name, `   late enqueue failed: ${what}`);
      }
    }
  }

  async #enqueue({ lh, process, clock }: Member): Promise<void> {
    const dice = this.#dice;
    const queue = await lh.queue(queueName);
    // Not with an idempotency key: another enqueue of it would wait for this transaction, and in the simulation nobody waits for a lock.
    const options = {
      partitionKey: `k${dice.whole(1, this.#plan.keys)}`,
      maxAttempts: this.#plan.maxAttempts,
    };
    const { id } = await new SimDatabase(process).transaction(async (tx) => {
      const enqueued = await queue.enqueue("work", jobOf(dice), { ...options, tx });
      await clock.sleep(dice.between(openMs.least, openMs.most));
      return enqueued;
    }, "ours");
    this.#world.note({
      is: "acknowledged",
      atMs: this.#world.schedule.nowMs,
      id,
      key: options.partitionKey,
    });
  }
}
