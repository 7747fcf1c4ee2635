import { connect, type Leasehold, type Queue } from "../../src/index.js";
import { version } from "../../src/settings.js";
import type { BenchJob, Payload } from "../job.js";
import type { Handle, System, SystemKind, Variant } from "./system.js";

/** Handlers at a time in each process; the one setting of the worker that is not the default. */
const concurrency = 100;
export const queueName = "bench";
export const schema = "leasehold";
export type BenchQueue = Queue<{ work: Payload }>;

/** Finished jobs are deleted, as graphile-worker and BullMQ do here. */
export const leasehold: SystemKind = {
  id: "leasehold",
  label: "Leasehold",
  ...kind({ retentionMs: 0 }),
};

/** Finished jobs move to the archive and stay for a week, which is the default. pg-boss keeps them for a week, too. */
export const leaseholdArchive: SystemKind = {
  id: "leasehold-archive",
  label: "Leasehold, archive on",
  ...kind({ retentionMs: 604_800_000 }),
};

function kind(kept: { readonly retentionMs: number }): Omit<SystemKind, "id" | "label"> {
  const keepsAll = kept.retentionMs > 0;
  const plain: Variant = { name: "", order: "none", settings: { ...kept, concurrency } };
  const keyed: Variant = { name: "", order: "key", settings: { ...kept, concurrency } };
  const none = { ...plain, name: "order none" };
  const key = { ...keyed, name: "order key" };
  return {
    store: "postgres",
    version: () => version,
    variants: {
      B3: [plain],
      B4: [plain],
      B8: [keyed],
      B9: [keyed],
      B12: [none, key],
      // Where the archive makes no difference, or was not asked about.
      ...(keepsAll
        ? {}
        : {
            B1: [none, key],
            B2: [none, key],
            B5: [none, key],
            B6: [none, key],
            B7: [none, key],
            B10: [none, key],
            B11: [keyed],
          }),
    },
    open: async (url, variant) => {
      // Given here, so that what the environment says plays no part.
      const lh = await connect({ url, schema, logger: false, workerId: `bench-${process.pid}` });
      // Loaded only when it is measured, so that it plays no part in what else is.
      const { telemetry = "none" } = variant.settings;
      if (telemetry !== "none") {
        const { scrapeMetrics, trace, traceRequests, useContext } = await import("./telemetry.js");
        scrapeMetrics(lh);
        if (telemetry === "context") useContext();
        if (telemetry === "traces") trace(lh, 1);
        if (telemetry === "sampled traces") trace(lh, 0.01);
        if (telemetry === "traced requests") return new LeaseholdSystem(lh, variant, traceRequests(lh));
      }
      return new LeaseholdSystem(lh, variant);
    },
  };
}

export class LeaseholdSystem implements System {
  readonly lh: Leasehold;
  readonly #variant: Variant;
  readonly #aroundCall: <T>(call: () => T) => T;
  #queue: Promise<BenchQueue> | null = null;

  constructor(lh: Leasehold, variant: Variant, aroundCall: <T>(call: () => T) => T = (call) => call()) {
    this.lh = lh;
    this.#variant = variant;
    this.#aroundCall = aroundCall;
  }

  async setup(): Promise<void> {
    await this.lh.migrate();
    await this.createQueue(queueName);
  }

  async createQueue(name: string): Promise<BenchQueue> {
    const { order, settings } = this.#variant;
    return await this.lh.queue(name, { order, retentionMs: Number(settings.retentionMs) });
  }

  async enqueueOne(job: BenchJob): Promise<void> {
    const queue = await this.#open();
    await queue.enqueue("work", job.payload, optionsOf(job));
  }

  async enqueueMany(jobs: readonly BenchJob[]): Promise<void> {
    const queue = await this.#open();
    await this.#aroundCall(() =>
      queue.enqueueMany(
        jobs.map((job) => ({ kind: "work", payload: job.payload, ...optionsOf(job) }) as const),
      ),
    );
  }

  async startWorker(handle: Handle): Promise<void> {
    const queue = await this.#open();
    const worker = this.lh.worker(
      queue,
      { work: (job) => handle(job.payload.n) },
      { concurrency: Number(this.#variant.settings.concurrency), handlesSignals: false },
    );
    await worker.start();
  }

  async countUnfinished(): Promise<number> {
    const { rows } = await this.lh.transaction((tx) =>
      tx.query(`select count(*)::int as count from ${schema}.${queueName} where finished_at is null`),
    );
    return Number((rows[0] as { readonly count: number }).count);
  }

  #open(): Promise<BenchQueue> {
    this.#queue ??= this.lh.queue<{ work: Payload }>(queueName);
    return this.#queue;
  }
}

function optionsOf({ key, delayMs }: BenchJob): { partitionKey?: string; delayMs?: number } {
  return { ...(key === null ? {} : { partitionKey: key }), ...(delayMs === undefined ? {} : { delayMs }) };
}
