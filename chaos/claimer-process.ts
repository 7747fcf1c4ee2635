import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Dice } from "../simulation/dice.js";
import { connect } from "../src/index.js";
import { handle } from "./handle.js";
import { Journal } from "./journal.js";
import { type ActorTask, type ChaosJobs, leaseMs, queueName, schema } from "./settings.js";

/** Claims by hand, as a function does that is called now and then: each call has a connection and a Queue of its own, remembers nothing, and is in no registry. */
const task = JSON.parse(process.argv[2] ?? "{}") as ActorTask;
process.on("disconnect", () => process.exit(0));

const everyMs = 300;
const jobsMax = 8;
const runMax = 3;
const journal = new Journal(task.journal);
const dice = new Dice(task.seed);
let isOver = false;
process.on("message", () => {
  isOver = true;
});

async function invoke(): Promise<void> {
  const pool = new pg.Pool({ connectionString: task.url, max: 2, application_name: task.name });
  pool.on("error", () => {});
  try {
    const lh = await connect({ pool, schema, logger: false });
    try {
      const queue = await lh.queue<ChaosJobs>(queueName);
      const workerId = task.name.split("#")[0] ?? task.name;
      // Not by the lease's own time of day: the server's clock may be another.
      const untilMs = performance.now() + leaseMs;
      const run = dice.whole(1, runMax);
      const jobs = await queue.claim({ workerId, limit: dice.whole(1, jobsMax), run, leaseMs });
      const broken = new Set<string>();
      for (const job of jobs) {
        // Nothing behind a job that failed is started. No lease is renewed here, so nothing is started either whose lease may run out.
        const restMs = untilMs - performance.now();
        if (broken.has(job.partitionKey) || restMs < job.payload.workMs + leaseMs / 4) {
          broken.add(job.partitionKey);
          await queue.release(job);
          continue;
        }
        try {
          if (!(await handle({ lh, journal, process: task.name }, job))) await queue.complete(job);
        } catch (error) {
          broken.add(job.partitionKey);
          await queue.fail(job, error);
        }
      }
    } finally {
      await lh.close();
    }
  } finally {
    await pool.end();
  }
}

while (!isOver) {
  await sleep(dice.between(0, 2 * everyMs));
  // The server may be away, and take with it what was claimed: the leases run out.
  await invoke().catch(() => sleep(everyMs));
}
process.disconnect();
