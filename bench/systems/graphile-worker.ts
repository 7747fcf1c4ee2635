import type { BenchJob, Payload } from "../job.js";
import { loadPeer, peerVersion } from "../load-peer.js";
import type { Handle, System, SystemKind, Variant } from "./system.js";

/** The part of its API that we use. */
interface GraphileWorker {
  readonly Logger: new (factory: () => () => void) => object;
  makeWorkerUtils(options: object): Promise<WorkerUtils>;
  run(options: object): Promise<unknown>;
}

interface WorkerUtils {
  migrate(): Promise<void>;
  addJob(task: string, payload: Payload, options: object): Promise<unknown>;
  addJobs(jobs: readonly object[]): Promise<unknown>;
  withPgClient<T>(work: (client: Client) => Promise<T>): Promise<T>;
}

interface Client {
  query(text: string): Promise<{ readonly rows: readonly { readonly count: number }[] }>;
}

const pool = { maxPoolSize: 10 };
const rate: Variant = {
  name: "",
  order: "none",
  settings: {
    ...pool,
    concurrentJobs: 1000,
    localQueueSize: 4000,
    completeJobBatchDelay: 1,
    pollInterval: 10,
  },
};
/** One handler and no local queue, which is how it comes: a job is fetched as soon as it is announced. */
const latency: Variant = { name: "", order: "none", settings: { ...pool, concurrentJobs: 1 } };
const localQueue: Variant = {
  name: "local queue",
  order: "key",
  settings: {
    ...pool,
    concurrentJobs: 1000,
    localQueueSize: 5000,
    completeJobBatchDelay: 1,
    pollInterval: 10,
  },
};
const oneByOne: Variant = {
  name: "no local queue",
  order: "key",
  settings: { maxPoolSize: 12, concurrentJobs: 10, completeJobBatchDelay: 0, pollInterval: 10 },
};
const enqueue: Variant = { name: "", order: "none", settings: { maxPoolSize: 16 } };

export const graphileWorker: SystemKind = {
  id: "graphile-worker",
  label: "graphile-worker",
  store: "postgres",
  version: () => peerVersion("graphile-worker"),
  variants: {
    B1: [enqueue],
    B2: [enqueue],
    B3: [rate],
    B4: [rate],
    B5: [latency],
    B6: [rate],
    B7: [rate],
    B8: [localQueue, oneByOne],
    B9: [localQueue, oneByOne],
    B12: [rate],
  },
  open: async (url, variant) => {
    // It would write a line for each job otherwise.
    process.env.NO_LOG_SUCCESS = "1";
    const peer = await loadPeer<GraphileWorker>("graphile-worker");
    const shared = { connectionString: url, logger: new peer.Logger(() => () => {}) };
    const { maxPoolSize } = variant.settings;
    const utils = await peer.makeWorkerUtils({ ...shared, maxPoolSize });
    return new GraphileWorkerSystem(peer, utils, { shared, variant });
  },
};

class GraphileWorkerSystem implements System {
  readonly #peer: GraphileWorker;
  readonly #utils: WorkerUtils;
  readonly #plan: { readonly shared: object; readonly variant: Variant };

  constructor(
    peer: GraphileWorker,
    utils: WorkerUtils,
    plan: { readonly shared: object; readonly variant: Variant },
  ) {
    this.#peer = peer;
    this.#utils = utils;
    this.#plan = plan;
  }

  async setup(): Promise<void> {
    await this.#utils.migrate();
  }

  async enqueueOne({ payload, key }: BenchJob): Promise<void> {
    await this.#utils.addJob("work", payload, queueOf(key));
  }

  async enqueueMany(jobs: readonly BenchJob[]): Promise<void> {
    await this.#utils.addJobs(
      jobs.map(({ payload, key }) => ({ identifier: "work", payload, ...queueOf(key) })),
    );
  }

  async startWorker(handle: Handle): Promise<void> {
    const { shared, variant } = this.#plan;
    const { localQueueSize, ...settings } = variant.settings;
    const worker = {
      ...shared,
      ...settings,
      ...(localQueueSize === undefined ? {} : { localQueue: { size: localQueueSize } }),
    };
    await this.#peer.run({
      preset: { worker },
      noHandleSignals: true,
      taskList: { work: (payload: Payload) => handle(payload.n) },
    });
  }

  async countUnfinished(): Promise<number> {
    const { rows } = await this.#utils.withPgClient((client) =>
      client.query("select count(*)::int as count from graphile_worker._private_jobs"),
    );
    return rows[0]?.count ?? 0;
  }
}

function queueOf(key: string | null): { queueName?: string } {
  return key === null ? {} : { queueName: key };
}
