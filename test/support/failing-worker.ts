/** A process as a user would write it who gives no logger: its jobs fail, it waits until they are dead letters, and stops. */
import { connect } from "../../src/index.js";

interface Task {
  readonly url: string;
  readonly schema: string;
  readonly jobs: number;
  readonly isSilent: boolean;
}

const { url, schema, jobs, isSilent } = JSON.parse(process.argv[2] ?? "{}") as Task;
const lh = await connect({
  url,
  schema,
  workerId: "failing",
  ...(isSilent ? { logger: false as const } : {}),
});
const inbox = await lh.queue("inbox", { order: "none" });
const dead = new Set<string>();
const allDead = new Promise<void>((resolve) => {
  lh.on("job:dead_lettered", ({ id }) => {
    dead.add(id);
    if (dead.size === jobs) resolve();
  });
});
const worker = lh.worker(inbox, {
  bad: {
    handle: (job) => {
      throw new Error(`no\nmailbox ${String(job.payload)}`);
    },
    retryDelayMs: () => 0,
  },
});
await inbox.enqueueMany(
  Array.from({ length: jobs }, (_, n) => ({ kind: "bad", payload: n, maxAttempts: 2 })),
);
await worker.start();
await allDead;
await lh.close();
