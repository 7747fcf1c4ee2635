import type { Worker } from "../../src/work/worker.js";
import type { Dice } from "../dice.js";
import { queueName } from "../engine/variants.js";
import type { World } from "../world/world.js";
import { handlerOf } from "./handler.js";
import { type Member, makeMember } from "./member.js";
import type { Plan } from "./plan.js";

export interface WorkerMember extends Member {
  readonly workerId: string;
  worker: Worker | null;
  owned: readonly number[] | null;
}

const startAgainMs = 700;

/** The processes of one simulation. */
export class Fleet {
  readonly #world: World;
  readonly #plan: Plan;
  readonly #dice: Dice;
  readonly #born = new Map<string, number>();
  readonly #workers = new Set<WorkerMember>();

  constructor(world: World, plan: Plan, dice: Dice) {
    this.#world = world;
    this.#plan = plan;
    this.#dice = dice;
  }

  /** Worker processes that have not ended. */
  get workers(): readonly WorkerMember[] {
    return [...this.#workers];
  }

  /** A process that only enqueues or operates. */
  join(name: string): Member {
    const { heartbeatMs, ttlMs } = this.#plan;
    const rate = this.#dice.between(0.97, 1.03);
    return makeMember(this.#world, { name: this.#nameOf(name), workerId: name, heartbeatMs, ttlMs, rate });
  }

  startWorker(workerId: string): WorkerMember {
    const member: WorkerMember = { ...this.join(workerId), workerId, worker: null, owned: null };
    this.#workers.add(member);
    this.#noteShared(workerId);
    member.events.on("worker:stopped", () => this.#end(member, "stopped"));
    member.events.on("job:stuck", () => {
      // Its handler goes on for nothing.
      this.#world.hit(member.process.name, "stuck");
      this.#world.healed(member.process.name, "stuck");
    });
    void this.#start(member);
    return member;
  }

  /** Kills a process where it stands. */
  kill(member: WorkerMember): void {
    if (!this.#workers.has(member)) return;
    member.process.die();
    this.#end(member, "killed");
  }

  /** Asks it to drain, as a deploy does. */
  drain(member: WorkerMember): void {
    const { name } = member.process;
    this.#world.hit(name, "draining");
    member.process.deliver(() => {
      if (member.worker === null) this.kill(member);
      else void member.worker.stop("a deploy").catch(() => {});
    });
  }

  /** Writes down whose buckets have changed. */
  noteOwned(): void {
    for (const member of this.#workers) {
      const { worker, process } = member;
      if (worker === null || worker.buckets === member.owned) continue;
      member.owned = worker.buckets;
      this.#world.note({
        is: "owned",
        atMs: this.#world.schedule.nowMs,
        process: process.name,
        buckets: worker.buckets,
      });
    }
  }

  async #start(member: WorkerMember): Promise<void> {
    const { concurrency, leaseMs, retryDelayMs } = this.#plan;
    const handle = handlerOf(this.#world, member, () => this.kill(member));
    const handlers = { work: { handle, retryDelayMs: () => retryDelayMs } };
    const options = {
      concurrency,
      leaseMs,
      handlerTimeoutMs: 1_000,
      abortGraceMs: 300,
      drainLimitMs: 3_000,
      housekeepingMs: 5_000,
      handlesSignals: false,
    };
    for (;;) {
      const worker = member.lh.worker(queueName, handlers, options);
      try {
        await worker.start();
        member.worker = worker;
        return;
      } catch {
        await member.clock.sleep(startAgainMs);
      }
    }
  }

  #end(member: WorkerMember, what: string): void {
    if (!this.#workers.delete(member)) return;
    member.process.die();
    this.#world.gone(member.process, what);
    this.#noteShared(member.workerId);
  }

  /** Two processes of one id disturb each other until the older one finds out. */
  #noteShared(workerId: string): void {
    const sharing = [...this.#workers].filter((member) => member.workerId === workerId);
    for (const { process } of sharing) {
      if (sharing.length > 1) this.#world.hit(process.name, "shares its id");
      else this.#world.healed(process.name, "shares its id");
    }
  }

  #nameOf(name: string): string {
    const count = (this.#born.get(name) ?? 0) + 1;
    this.#born.set(name, count);
    return `${name}#${count}`;
  }
}
