import type { BenchJob, Payload } from "../job.js";
import { loadPeer, peerVersion } from "../load-peer.js";
import type { Handle, System, SystemKind, Variant } from "./system.js";

/** The part of its API that we use. */
interface BullMq {
  readonly Redis: new (url: string, options: object) => { quit(): Promise<unknown> };
  readonly Queue: new (name: string, options: object) => BullQueue;
  readonly Worker: new (
    name: string,
    processor: (job: { readonly data: Payload }) => Promise<void>,
    options: object,
  ) => { waitUntilReady(): Promise<unknown> };
}

interface BullQueue {
  waitUntilReady(): Promise<unknown>;
  add(name: string, data: Payload): Promise<unknown>;
  addBulk(jobs: readonly { readonly name: string; readonly data: Payload }[]): Promise<unknown>;
  getJobCountByTypes(...states: string[]): Promise<number>;
  obliterate(options: { readonly force: boolean }): Promise<void>;
  close(): Promise<void>;
}

const rate: Variant = { name: "", order: "none", settings: { removeOnComplete: true, concurrency: 200 } };
const variants = { B1: [rate], B2: [rate], B3: [rate], B4: [rate], B5: [rate] };

export const bullmqEverySecond: SystemKind = {
  id: "bullmq",
  label: "BullMQ (flush each second)",
  store: "redis-everysec",
  version: () => peerVersion("bullmq"),
  variants,
  open,
};

export const bullmqEveryWrite: SystemKind = {
  id: "bullmq-always",
  label: "BullMQ (flush every write)",
  store: "redis-always",
  version: () => peerVersion("bullmq"),
  variants,
  open,
};

async function open(url: string, variant: Variant): Promise<System> {
  return new BullMqSystem(await loadPeer<BullMq>("bullmq"), url, variant);
}

/** Removes what a measurement has left on somebody else's Redis. */
export async function forgetQueue(url: string): Promise<void> {
  const { Redis, Queue } = await loadPeer<BullMq>("bullmq");
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue(nameIn(url), { connection });
  await queue.obliterate({ force: true });
  await queue.close();
  await connection.quit();
}

class BullMqSystem implements System {
  readonly #peer: BullMq;
  readonly #name: string;
  readonly #connection: object;
  readonly #queue: BullQueue;
  readonly #variant: Variant;

  constructor(peer: BullMq, url: string, variant: Variant) {
    this.#peer = peer;
    this.#variant = variant;
    this.#name = nameIn(url);
    this.#connection = new peer.Redis(url, { maxRetriesPerRequest: null });
    const { removeOnComplete = false } = variant.settings;
    this.#queue = new peer.Queue(this.#name, {
      connection: this.#connection,
      defaultJobOptions: { removeOnComplete },
    });
  }

  async setup(): Promise<void> {
    await this.#queue.waitUntilReady();
  }

  async enqueueOne({ payload }: BenchJob): Promise<void> {
    await this.#queue.add("work", payload);
  }

  async enqueueMany(jobs: readonly BenchJob[]): Promise<void> {
    await this.#queue.addBulk(jobs.map(({ payload }) => ({ name: "work", data: payload })));
  }

  async startWorker(handle: Handle): Promise<void> {
    const { concurrency } = this.#variant.settings;
    const worker = new this.#peer.Worker(this.#name, async (job) => await handle(job.data.n), {
      connection: this.#connection,
      concurrency,
    });
    await worker.waitUntilReady();
  }

  async countUnfinished(): Promise<number> {
    return await this.#queue.getJobCountByTypes("waiting", "active", "delayed", "prioritized");
  }
}

/** The fragment of the URL, if any: somebody else's Redis may hold other queues. */
function nameIn(url: string): string {
  return new URL(url).hash.slice(1) || "bench";
}
