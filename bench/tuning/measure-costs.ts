import { randomBytes } from "node:crypto";
import type { PostgresServer } from "../../src/embedded.js";
import { connect } from "../../src/index.js";
import { serverCpuMs } from "../server-cpu.js";

const count = 20_000;
const calls = 2_000;

export interface Spent {
  /** Microseconds a job. */
  readonly databaseUs: number;
  readonly nodeUs: number;
}

/** CPU of the server and of this process for a job's whole life, with payloads of this size, in large batches. */
export async function costOfPayload(server: PostgresServer, bytes: number): Promise<Spent> {
  const lh = await connect({ url: server.url, workerId: `bytes-${bytes}`, logger: false });
  const queue = await lh.queue(`bytes_${bytes}`, { order: "none", retentionMs: 0 });
  // Random, so that TOAST can't compress it.
  const text = randomBytes(bytes / 2).toString("hex");
  const before = spent(server);
  const jobs = Array.from({ length: count }, (_, n) => ({ kind: "tuned", payload: { n, text } }));
  for (let from = 0; from < count; from += 1_000) await queue.enqueueMany(jobs.slice(from, from + 1_000));
  let done = 0;
  await new Promise<void>((resolve, reject) => {
    const handle = (): void => {
      if (++done === count) resolve();
    };
    const worker = lh.worker(queue, { tuned: handle }, { concurrency: 100, handlesSignals: false });
    worker.start().catch(reject);
  });
  await lh.close();
  return per(count, before, spent(server));
}

/** CPU of the server for one enqueue, one claim and one completion by hand, of a single job. */
export async function costOfStatements(server: PostgresServer): Promise<number> {
  const lh = await connect({ url: server.url, workerId: "statements" });
  const queue = await lh.queue("statements", { order: "none", retentionMs: 0, buckets: 1 });
  const before = spent(server);
  for (let n = 0; n < calls; n++) {
    await queue.enqueue("tuned", { n });
    const [job] = await queue.claim({ workerId: "statements", limit: 1 });
    if (job !== undefined) await queue.complete(job);
  }
  const { databaseUs } = per(3 * calls, before, spent(server));
  await lh.close();
  return databaseUs;
}

interface Clocks {
  readonly databaseMs: number;
  readonly nodeMs: number;
}

function spent(server: PostgresServer): Clocks {
  const { user, system } = process.cpuUsage();
  return { databaseMs: serverCpuMs(server.pid) ?? Number.NaN, nodeMs: (user + system) / 1_000 };
}

function per(jobs: number, before: Clocks, after: Clocks): Spent {
  return {
    databaseUs: ((after.databaseMs - before.databaseMs) * 1_000) / jobs,
    nodeUs: ((after.nodeMs - before.nodeMs) * 1_000) / jobs,
  };
}
