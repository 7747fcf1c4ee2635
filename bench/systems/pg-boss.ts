import type { BenchJob, Payload } from "../job.js";
import { loadPeer, peerVersion } from "../load-peer.js";
import type { Handle, System, SystemKind, Variant } from "./system.js";

/** The part of its API that we use. */
interface PgBossModule {
  readonly PgBoss: new (options: object) => PgBoss;
}

interface PgBoss {
  on(event: "error", listener: (error: Error) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: Payload, options: object): Promise<unknown>;
  insert(name: string, jobs: readonly object[]): Promise<unknown>;
  work(
    name: string,
    options: object,
    handler: (jobs: readonly { readonly data: Payload }[]) => Promise<void>,
  ): Promise<string>;
  getDb(): { executeSql(text: string): Promise<{ readonly rows: readonly { readonly count: number }[] }> };
}

const queueName = "bench";
const rate: Variant = {
  name: "",
  order: "none",
  settings: { batchSize: 5000, localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
};
const latency: Variant = {
  name: "",
  order: "none",
  settings: { useListenNotify: true, notify: true, batchSize: 1, localConcurrency: 1 },
};
const fifo: Variant = {
  name: "",
  order: "key",
  settings: { batchSize: 500, localConcurrency: 1, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
};
/** A fetch brings one job of a key at most. When only the hot key is left no batch is full, and the next fetch waits for half a second. */
const inBatches: Variant = { ...fifo, name: "batches of 500" };
const oneByOne: Variant = {
  name: "one by one",
  order: "key",
  settings: { batchSize: 1, localConcurrency: 24, pollingIntervalSeconds: 0.5 },
};
const enqueue: Variant = { name: "", order: "none", settings: { max: 16 } };

export const pgBoss: SystemKind = {
  id: "pg-boss",
  label: "pg-boss",
  store: "postgres",
  version: () => peerVersion("pg-boss"),
  variants: {
    B1: [enqueue],
    B2: [enqueue],
    B3: [rate],
    B4: [rate],
    B5: [latency],
    B6: [rate],
    B7: [rate],
    B8: [fifo],
    B9: [inBatches, oneByOne],
    B12: [rate],
  },
  open: async (url, variant) => {
    const { PgBoss } = await loadPeer<PgBossModule>("pg-boss");
    const { useListenNotify = false, max = 10 } = variant.settings;
    const boss = new PgBoss({ connectionString: url, max, useListenNotify });
    // Without a listener an error would end the process.
    boss.on("error", (error) => process.stderr.write(`${error.message}\n`));
    await boss.start();
    return new PgBossSystem(boss, variant);
  },
};

class PgBossSystem implements System {
  readonly #boss: PgBoss;
  readonly #variant: Variant;

  constructor(boss: PgBoss, variant: Variant) {
    this.#boss = boss;
    this.#variant = variant;
  }

  async setup(): Promise<void> {
    const { order, settings } = this.#variant;
    const policy = order === "key" ? "key_strict_fifo" : "standard";
    await this.#boss.createQueue(queueName, { policy, notify: settings.notify ?? false });
  }

  async enqueueOne({ payload, key }: BenchJob): Promise<void> {
    await this.#boss.send(queueName, payload, singletonOf(key));
  }

  async enqueueMany(jobs: readonly BenchJob[]): Promise<void> {
    await this.#boss.insert(
      queueName,
      jobs.map(({ n, payload, key }) => ({ data: payload, ...singletonOf(key), ...risingId(n, key) })),
    );
  }

  async startWorker(handle: Handle): Promise<void> {
    const { notify: _, useListenNotify: __, max: ___, ...options } = this.#variant.settings;
    await this.#boss.work(queueName, options, async (jobs) => {
      const waiting: Promise<void>[] = [];
      for (const { data } of jobs) {
        const handled = handle(data.n);
        if (handled !== undefined) waiting.push(handled);
      }
      await Promise.all(waiting);
    });
  }

  async countUnfinished(): Promise<number> {
    const { rows } = await this.#boss
      .getDb()
      .executeSql(
        `select count(*)::int as count from pgboss.job where name = '${queueName}' and state < 'completed'`,
      );
    return rows[0]?.count ?? 0;
  }
}

function singletonOf(key: string | null): { singletonKey?: string } {
  return key === null ? {} : { singletonKey: key };
}

/** Jobs of one call have the same time of creation and run in the order of their ids, which are random unless we give them. */
function risingId(n: number, key: string | null): { id?: string } {
  return key === null ? {} : { id: `00000000-0000-7000-8000-${n.toString(16).padStart(12, "0")}` };
}
