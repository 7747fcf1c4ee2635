import pg from "pg";
import { connect, type WorkingJob } from "../src/index.js";
import { handle } from "./handle.js";
import { Journal } from "./journal.js";
import {
  type ChaosJob,
  type ChaosJobs,
  heartbeatMs,
  leaseMs,
  queueName,
  schema,
  ttlMs,
  type WorkerTask,
} from "./settings.js";

/** One worker of a chaos run, in a process of its own. Tells its journal what it does; ends when its parent is gone. */
const task = JSON.parse(process.argv[2] ?? "{}") as WorkerTask;
const lookAtBucketsMs = 25;
process.on("disconnect", () => process.exit(0));

const journal = new Journal(task.journal);
const pool = new pg.Pool({
  connectionString: task.url,
  max: 10,
  application_name: task.name,
  connectionTimeoutMillis: 3_000,
  query_timeout: 10_000,
});
const lh = await connect({
  pool,
  directUrl: task.sessionUrl,
  schema,
  logger: false,
  workerId: task.workerId,
  heartbeatMs,
  ttlMs,
});

const work = async (job: WorkingJob<string, ChaosJob>): Promise<void> => {
  await handle({ lh, journal, process: task.name }, job);
};
const worker = lh.worker<ChaosJobs>(
  queueName,
  { work, bulk: work },
  { concurrency: 8, leaseMs, drainLimitMs: 5_000, abortGraceMs: 1_000, housekeepingMs: 10_000 },
);

let known: readonly number[] | null = null;
setInterval(() => {
  if (worker.buckets === known) return;
  known = worker.buckets;
  journal.note({ is: "owned", process: task.name, buckets: known });
}, lookAtBucketsMs).unref();

await worker.start();
process.send?.("ready");
