import type { Queue } from "../../src/index.js";
import type { Dice } from "../dice.js";
import { queueName } from "../engine/variants.js";
import type { World } from "../world/world.js";
import type { Fleet } from "./fleet.js";
import type { Member } from "./member.js";
import type { Plan } from "./plan.js";

/** A person who pauses, redrives, discards, evicts and looks, without a plan. */
export class Operator {
  readonly #world: World;
  readonly #plan: Plan;
  readonly #fleet: Fleet;
  readonly #dice: Dice;
  readonly #member: Member;
  #isCalm = false;
  #isActing = false;
  #evictions = 0;

  constructor(world: World, plan: Plan, parts: { readonly fleet: Fleet; readonly dice: Dice }) {
    this.#world = world;
    this.#plan = plan;
    this.#fleet = parts.fleet;
    this.#dice = parts.dice;
    this.#member = parts.fleet.join("operator");
  }

  start(): void {
    void this.#run();
  }

  /** From now on only what is needed to come to an end: nothing stays paused, and what holds up its key is dealt with. */
  calmDown(): void {
    this.#isCalm = true;
  }

  /** After calmDown(): nothing that it asked for before is on its way. */
  get isQuiet(): boolean {
    return !this.#isActing;
  }

  async #run(): Promise<void> {
    const { clock, lh } = this.#member;
    let queue: Queue | null = null;
    for (;;) {
      await clock.sleep(this.#dice.between(200, 2_000));
      this.#isActing = !this.#isCalm;
      try {
        queue ??= await lh.queue(queueName);
        await (this.#isCalm ? this.#tidyUp(queue) : this.#act(queue));
      } catch (error) {
        const what = error instanceof Error ? error.name : String(error);
        this.#world.trace.say(this.#member.process.name, `   failed: ${what}`);
      }
      this.#isActing = false;
    }
  }

  async #act(queue: Queue): Promise<void> {
    const dice = this.#dice;
    const acts: readonly (() => Promise<unknown>)[] = [
      async () => {
        await queue.pause();
        await this.#member.clock.sleep(dice.between(200, 2_000));
        await queue.resume();
      },
      () => queue.retry({ status: "dead_letter" }),
      () => queue.retry({}),
      () => queue.discard({ status: "dead_letter", limit: 1, reason: "told to" }),
      () => queue.discard({ partitionKey: `k${dice.whole(1, this.#plan.keys)}`, limit: 1 }),
      () => queue.stats(),
      () => queue.list({ limit: 5 }),
      () => this.#member.lh.housekeep(),
      () => this.#evict(),
      () => queue.resume(),
    ];
    await dice.pick(acts)();
  }

  async #evict(): Promise<void> {
    const { workers } = this.#fleet;
    if (workers.length === 0) return;
    const { workerId } = this.#dice.pick(workers);
    // It concerns every process of the id when it arrives, and it may be long on its way: another one may begin before it ends.
    const what = `eviction ${++this.#evictions}`;
    const hit = new Set<string>();
    const hitAll = (): void => {
      for (const one of this.#fleet.workers) {
        if (one.workerId !== workerId || hit.has(one.process.name)) continue;
        hit.add(one.process.name);
        this.#world.hit(one.process.name, what);
      }
    };
    hitAll();
    try {
      await this.#member.lh.evict(workerId);
    } finally {
      hitAll();
      this.#world.schedule.after(this.#plan.ttlMs * 2, () => {
        for (const name of hit) this.#world.healed(name, what);
      });
    }
  }

  async #tidyUp(queue: Queue): Promise<void> {
    // Also a pause that was long on its way.
    if (this.#world.history.findLast((entry) => entry.is === "paused")?.isPaused === true)
      await queue.resume();
    if (this.#plan.variant.options.onDeadLetter === "park")
      await queue.discard({ status: "dead_letter", reason: "at the end" });
  }
}
