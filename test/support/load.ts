import { now } from "./fleet.js";
import type { FleetJob } from "./fleet-worker.js";
import type { World } from "./world.js";

/** A steady load over keys: every key gets its next job in turn. */
export class Load {
  readonly keys: readonly string[];
  readonly #next = new Map<string, number>();
  /** When each job of a key had committed, by its number. */
  readonly committedAt: Map<string, number[]> = new Map();
  readonly #world: World;
  #turn = 0;
  #isOn = false;
  #running: Promise<void> = Promise.resolve();

  constructor(world: World, keys: number, name = "key") {
    this.#world = world;
    this.keys = Array.from({ length: keys }, (_, i) => `${name}:${i}`);
  }

  get enqueued(): number {
    let sum = 0;
    for (const count of this.#next.values()) sum += count;
    return sum;
  }

  countOf(key: string): number {
    return this.#next.get(key) ?? 0;
  }

  async enqueue(count: number, job: Omit<FleetJob, "n"> = {}): Promise<void> {
    const inbox = await this.#world.lh.queue("inbox");
    const jobs = Array.from({ length: count }, () => {
      const partitionKey = this.keys[this.#turn++ % this.keys.length] ?? "";
      const n = this.#next.get(partitionKey) ?? 0;
      this.#next.set(partitionKey, n + 1);
      return { kind: "work", payload: { n, ...job }, partitionKey };
    });
    await inbox.enqueueMany(jobs);
    const at = now();
    for (const { partitionKey, payload } of jobs) {
      const times = this.committedAt.get(partitionKey) ?? [];
      times[payload.n] = at;
      this.committedAt.set(partitionKey, times);
    }
  }

  /** So many a second until stop(), in small batches; what the clock missed is caught up with. */
  start(perSecond: number, job: Omit<FleetJob, "n"> = {}): void {
    this.#isOn = true;
    const startedAt = now();
    let sent = 0;
    this.#running = (async () => {
      while (this.#isOn) {
        const due = Math.min(500, Math.floor(((now() - startedAt) / 1000) * perSecond) - sent);
        if (due > 0) await this.enqueue(due, job);
        sent += Math.max(0, due);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#running;
  }
}

/** Waits until nothing is pending, scheduled or in process. */
export async function untilDrained(world: World, limitMs = 60_000): Promise<void> {
  const inbox = await world.lh.queue("inbox");
  const until = now() + limitMs;
  for (;;) {
    const { pending, processing, scheduled } = await inbox.stats();
    if (pending + processing + scheduled === 0) return;
    if (now() > until) throw new Error(`not drained: ${JSON.stringify({ pending, processing, scheduled })}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
