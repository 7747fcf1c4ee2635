import { setTimeout as sleep } from "node:timers/promises";
import type { Leasehold } from "../src/index.js";
import {
  type DeployJobs,
  type DeployMessage,
  type DeployTask,
  doneTable,
  queueName,
  schema,
} from "./deploy-settings.js";

const keysPerProducer = 20;
/** Long enough that jobs are being handled whenever a process is replaced. */
const workMs = 5;
const drainLimitMs = 20_000;

/** A process of a rolling deploy. It migrates at its start, as services do, then works or produces until it is told to stop. Ends when its parent is gone. */
const task = JSON.parse(process.argv[2] ?? "{}") as DeployTask;
process.on("disconnect", () => process.exit(0));
const tell = (message: DeployMessage): void => void process.send?.(message);

const { connect } = (await import(task.library)) as typeof import("../src/index.js");
const lh = await connect({ url: task.url, schema, logger: false, heartbeatMs: 1_000, ttlMs: 4_000 });
let isOver = false;

async function work(): Promise<void> {
  const inbox = await lh.queue<DeployJobs>(queueName, { order: "key" });
  const worker = lh.worker(
    inbox,
    {
      step: async (job) => {
        await sleep(workMs);
        const values = [job.partitionKey, job.payload.number, task.name];
        await job.transaction(async (tx) => {
          await tx.query(`insert into ${doneTable} (key, number, process) values ($1, $2, $3)`, values);
        });
      },
    },
    { concurrency: 8, drainLimitMs },
  );
  await worker.start();
}

/** The numbers of a key are sent one after another, each until it is acknowledged; its idempotency key makes that safe. */
async function produce(on: Leasehold): Promise<void> {
  const inbox = await on.queue<DeployJobs>(queueName, { order: "key" });
  const pauseMs = (1_000 * keysPerProducer) / task.jobsPerSecond;
  const keys = Array.from({ length: keysPerProducer }, (_, n) => `${task.name}:${n}`);
  const send = async (key: string): Promise<void> => {
    for (let number = 1; !isOver; ) {
      const options = { partitionKey: key, idempotencyKey: `${key}:${number}` };
      try {
        await inbox.enqueue("step", { number }, options);
        tell({ is: "acknowledged", key, number });
        number++;
      } catch {
        // Sent again: nobody was promised anything yet.
      }
      await sleep(pauseMs);
    }
  };
  await Promise.all(keys.map(send));
  await on.close();
  process.disconnect();
}

try {
  const migrations = await lh.migrate();
  if (task.role === "worker") await work();
  process.on("message", () => {
    isOver = true;
  });
  tell({ is: "ready", migrations });
  if (task.role === "producer") await produce(lh);
} catch (error) {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  tell({ is: "refused", code: code ?? "none", words: message });
  await lh.close();
  process.disconnect();
}
