import pg from "pg";
import { effectSql } from "../simulation/engine/recorder.js";
import { connect, retryAfter } from "../src/index.js";
import { Journal } from "./journal.js";
import {
  type ChaosJob,
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

const worker = lh.worker<{ work: ChaosJob }>(
  queueName,
  {
    work: async (job) => {
      const { id, partitionKey: key, fenceToken: token, payload } = job;
      const about = { process: task.name, id, key, token };
      journal.note({ is: "started", ...about });
      try {
        if (payload.workMs > 0) await new Promise((resolve) => setTimeout(resolve, payload.workMs));
        if (job.attempt <= payload.failures) throw retryAfter(50, "told to fail");
        const values = [payload.effect, id, key, String(token)];
        if (payload.effect === "once") await job.transaction((tx) => tx.query(effectSql(schema), values));
        if (payload.effect === "fenced") {
          await lh.transaction(async (tx) => {
            await lh.fence(tx, key, token);
            await tx.query(effectSql(schema), values);
          });
        }
      } finally {
        journal.note({ is: "ended", ...about });
      }
    },
  },
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
