import type { Queue } from "../../src/index.js";
import type { Dice } from "../dice.js";
import { queueName } from "../engine/variants.js";
import type { World } from "../world/world.js";
import type { Fleet } from "./fleet.js";
import type { Member } from "./member.js";
import { jobOf, type Plan } from "./plan.js";

/** Enqueues a number of jobs, one by one or several at once, and waits for each answer before it sends the next. */
export class Producer {
  readonly #world: World;
  readonly #plan: Plan;
  readonly #dice: Dice;
  readonly #member: Member;
  #isDone = false;

  constructor(
    world: World,
    plan: Plan,
    parts: { readonly fleet: Fleet; readonly name: string; readonly dice: Dice },
  ) {
    this.#world = world;
    this.#plan = plan;
    this.#dice = parts.dice;
    this.#member = parts.fleet.join(parts.name);
  }

  get isDone(): boolean {
    return this.#isDone || this.#member.process.isDead;
  }

  start(): void {
    void this.#run().finally(() => {
      this.#isDone = true;
    });
  }

  async #run(): Promise<void> {
    const { clock } = this.#member;
    const queue = await this.#open();
    for (let sent = 0; sent < this.#plan.jobsPerProducer; ) {
      await clock.sleep(this.#dice.chance(0.5) ? this.#dice.between(0, 20) : this.#dice.between(50, 500));
      const count = this.#dice.chance(0.2) ? this.#dice.whole(2, 5) : 1;
      sent += count;
      await this.#send(queue, count);
    }
  }

  async #open(): Promise<Queue> {
    for (;;) {
      try {
        return await this.#member.lh.queue(queueName);
      } catch {
        await this.#member.clock.sleep(500);
      }
    }
  }

  async #send(queue: Queue, count: number): Promise<void> {
    const dice = this.#dice;
    const jobs = Array.from({ length: count }, () => ({
      kind: "work",
      payload: jobOf(dice),
      maxAttempts: this.#plan.maxAttempts,
      partitionKey: `k${dice.whole(1, this.#plan.keys)}`,
      ...(dice.chance(0.15) ? { delayMs: dice.whole(1, 1_500) } : {}),
      ...(dice.chance(0.2) ? { idempotencyKey: `once-${dice.whole(1, 8)}` } : {}),
    }));
    const sent = jobs.map((job) => this.#noteSent(job.partitionKey, job.delayMs === undefined));
    try {
      const [first] = jobs;
      if (first === undefined) return;
      const { kind, payload, ...options } = first;
      const answers =
        count === 1 ? [await queue.enqueue(kind, payload, options)] : await queue.enqueueMany(jobs);
      for (const [n, { id, duplicate }] of answers.entries()) {
        const entry = sent[n];
        if (entry === undefined) continue;
        if (!duplicate) entry.id = id;
        const is = duplicate ? "duplicate" : "acknowledged";
        this.#world.note({ is, atMs: this.#world.schedule.nowMs, id, key: entry.key });
      }
    } catch (error) {
      const what = error instanceof Error ? error.name : String(error);
      this.#world.trace.say(this.#member.process.name, `   enqueue failed: ${what}`);
    }
  }

  /** Its id is known with the answer. One that is not due yet has no place in line to compare. */
  #noteSent(key: string, isOrdered: boolean): { id: string; readonly key: string } {
    const entry = { is: "sent" as const, atMs: this.#world.schedule.nowMs, id: "", key };
    if (isOrdered) this.#world.note(entry);
    return entry;
  }
}
