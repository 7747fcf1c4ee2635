import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Leasehold, type Queue } from "../../src/index.js";
import { refuseCompany } from "./company.js";
import { Figures, type Snapshot } from "./figures.js";
import { Fleet } from "./fleet.js";
import { Journal } from "./journal.js";
import type { Member } from "./member.js";
import { count } from "./numbers.js";
import { Producer } from "./producer.js";
import { leaseholdSchema, queueName, queueOptions } from "./settings.js";
import type { ShopJobs } from "./shop.js";
import { prepareTables } from "./tables.js";
import { Takeovers } from "./takeovers.js";

const workersAtStart = 3;
const lookEveryMs = 1_000;

/** The demo behind its views: the producer, the worker processes, and what is known about them. */
export class Demo {
  readonly journal: Journal;
  readonly figures: Figures;
  readonly #lh: Leasehold;
  readonly #queue: Queue<ShopJobs>;
  readonly #fleet: Fleet;
  readonly #producer: Producer;
  readonly #takeovers: Takeovers;
  readonly #stopped = new AbortController();
  #looking: Promise<void> = Promise.resolve();

  private constructor(lh: Leasehold, queue: Queue<ShopJobs>, place: { url: string; words: string }) {
    this.#lh = lh;
    this.#queue = queue;
    this.journal = new Journal();
    this.#fleet = new Fleet(place.url, this.journal);
    const { journal } = this;
    this.figures = new Figures({ lh, queue, fleet: this.#fleet, journal, server: place.words });
    this.#producer = new Producer(lh, queue, (error) => this.#trouble("An order could not be made", error));
    this.#takeovers = new Takeovers(({ workerId, by, key, afterMs }) =>
      journal.add("good", `${workerId}'s keys run again after ${count(afterMs)} ms: ${key} on ${by}`),
    );
    this.#fleet.onStart = (workerId, start) => this.#takeovers.started(workerId, start);
    this.#fleet.onLost = (member, how) => this.#lost(member, how);
  }

  /** Prepares the database; nothing moves before start(). */
  static async prepare(place: { url: string; words: string }): Promise<Demo> {
    const lh = await connect({ logger: false, url: place.url, schema: leaseholdSchema, connectionsMax: 4 });
    try {
      await lh.migrate();
      await refuseCompany(lh);
      const queue = await lh.queue<ShopJobs>(queueName, queueOptions);
      await queue.resume();
      await queue.discard({ status: "dead_letter", reason: "left over from an earlier demo" });
      await prepareTables(lh);
      return new Demo(lh, queue, place);
    } catch (error) {
      await lh.close();
      throw error;
    }
  }

  start(): void {
    for (let i = 0; i < workersAtStart; i++) this.#fleet.add();
    this.#producer.start();
    this.#looking = this.#lookAgainAndAgain();
  }

  add(): void {
    this.#fleet.add();
  }

  drainOne(): void {
    this.#fleet.drainOne();
  }

  kill(): void {
    this.#fleet.kill();
  }

  async pauseOrResume(): Promise<void> {
    const { figures } = this;
    if (figures.mode === "stopping") return;
    const isPaused = figures.mode === "paused";
    try {
      await (isPaused ? this.#queue.resume() : this.#queue.pause());
      figures.mode = isPaused ? "working" : "paused";
      this.journal.add(
        "plain",
        isPaused ? "the queue is resumed" : "the queue is paused; orders still come in",
      );
    } catch (error) {
      this.#trouble("The queue could not be paused or resumed", error);
    }
  }

  /** Drains everything, then looks once more at everything. */
  async stop(): Promise<Snapshot> {
    this.figures.mode = "stopping";
    await this.#producer.stop();
    await this.#fleet.stop();
    this.#stopped.abort();
    await this.#looking;
    try {
      await this.figures.promises.lookAtAll();
      await this.figures.look();
      await this.#queue.resume();
      return this.figures.snapshot();
    } finally {
      await this.#lh.close();
    }
  }

  async #lookAgainAndAgain(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.figures
        .look()
        .catch((error: unknown) => this.#trouble("The figures could not be read", error));
      await sleep(lookEveryMs, undefined, { signal }).catch(() => {});
    }
  }

  #lost({ id, pid, inHand }: Member, how: string): void {
    const buckets = this.figures.bucketsOf(id);
    this.#takeovers.killed(id, buckets);
    this.journal.add("bad", `${how} ${id} (pid ${pid}): ${buckets.length} buckets, ${inHand} in hand`);
  }

  #trouble(what: string, error: unknown): void {
    const words = `${what}: ${error instanceof Error ? error.message : String(error)}`;
    this.journal.tell({ tone: "bad", words, topic: "trouble" });
  }
}
