import type { Dice } from "../dice.js";
import { queueName } from "../engine/variants.js";
import type { World } from "../world/world.js";
import type { Fleet } from "./fleet.js";
import { handlerOf } from "./handler.js";
import type { Member } from "./member.js";
import type { Plan } from "./plan.js";

const everyMs = { least: 100, most: 1_500 } as const;
const jobsMax = 6;

/** Invocations of a function that claims by hand: each is a process of its own, remembers nothing, takes a few jobs, and ends; some end in the middle. */
export class HandClaimer {
  readonly #world: World;
  readonly #plan: Plan;
  readonly #fleet: Fleet;
  readonly #dice: Dice;
  #isCalm = false;

  constructor(world: World, plan: Plan, parts: { readonly fleet: Fleet; readonly dice: Dice }) {
    this.#world = world;
    this.#plan = plan;
    this.#fleet = parts.fleet;
    this.#dice = parts.dice;
  }

  start(): void {
    this.#world.schedule.after(this.#dice.between(everyMs.least, everyMs.most), () => {
      if (this.#isCalm) return;
      void this.#invoke();
      this.start();
    });
  }

  calmDown(): void {
    this.#isCalm = true;
  }

  async #invoke(): Promise<void> {
    const member = this.#fleet.join("hand");
    const { process } = member;
    // Nobody renews its leases while it works, so what it holds may be taken.
    this.#world.hit(process.name, "claims by hand");
    const end = (): void => {
      if (process.isDead) return;
      process.die();
      this.#world.gone(process, "ended");
    };
    if (this.#dice.chance(0.2)) this.#world.schedule.after(this.#dice.between(1, 800), end);
    try {
      await this.#work(member, end);
    } catch (error) {
      const what = error instanceof Error ? error.name : String(error);
      this.#world.trace.say(process.name, `   failed: ${what}`);
    }
    end();
  }

  async #work(member: Member, crash: () => void): Promise<void> {
    const queue = await member.lh.queue(queueName);
    const handle = handlerOf(this.#world, member, crash);
    const jobs = await queue.claim({
      workerId: member.process.name,
      limit: this.#dice.whole(1, jobsMax),
      leaseMs: this.#plan.leaseMs,
    });
    const broken = new Set<string>();
    const { signal } = new AbortController();
    for (const job of jobs) {
      const isHeld =
        !broken.has(job.partitionKey) && (await queue.renew(job, this.#plan.leaseMs)).state === "renewed";
      if (!isHeld) {
        broken.add(job.partitionKey);
        continue;
      }
      try {
        const { id, partitionKey, seq, fenceToken, attempt, payload, transaction } = job;
        await handle({ id, partitionKey, seq, fenceToken, attempt, payload, transaction, signal });
        await queue.complete(job);
      } catch (error) {
        broken.add(job.partitionKey);
        await queue.fail(job, error);
      }
    }
  }
}
