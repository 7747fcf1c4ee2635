import { setTimeout as sleep } from "node:timers/promises";
import { Dice } from "../simulation/dice.js";
import { connect } from "../src/index.js";
import { Journal } from "./journal.js";
import { type ActorTask, type ChaosJobs, maxAttempts, queueName, schema } from "./settings.js";

/** A person who sends, redrives and discards jobs in hundreds while work goes on. Half of what is sent ends as dead letters, each time it is redriven. */
const task = JSON.parse(process.argv[2] ?? "{}") as ActorTask;
process.on("disconnect", () => process.exit(0));

const everyMs = 3_000;
const bulk = 300;
const bulkKeys = 24;
const journal = new Journal(task.journal);
const dice = new Dice(task.seed);
const lh = await connect({ url: task.url, schema, logger: false });
const queue = await lh.queue<ChaosJobs>(queueName);
let isOver = false;
process.on("message", () => {
  isOver = true;
});

async function send(): Promise<void> {
  const jobs = Array.from({ length: bulk }, () => ({
    kind: "bulk" as const,
    payload: {
      workMs: 0,
      failures: 0,
      effect: dice.pick(["none", "once"] as const),
      isDoomed: dice.chance(0.5),
    },
    partitionKey: `bulk${dice.whole(1, bulkKeys)}`,
    maxAttempts,
  }));
  const answers = await queue.enqueueMany(jobs);
  for (const [n, { id }] of answers.entries())
    journal.note({ is: "acknowledged", id, key: jobs[n]?.partitionKey ?? "" });
}

const acts: readonly (() => Promise<unknown>)[] = [
  send,
  send,
  () => queue.retry({ status: "dead_letter" }),
  () => queue.retry({ kind: "bulk" }),
  () => queue.discard({ status: "dead_letter", limit: bulk, reason: "told to" }),
  // What waits, too: rows in process are left alone.
  async () => {
    await send();
    await queue.discard({ kind: "bulk", reason: "told to" });
  },
];

process.send?.("ready");
while (!isOver) {
  await sleep(dice.between(0, 2 * everyMs));
  // The server may be away; what was done of it stays done.
  await dice
    .pick(acts)()
    .catch(() => sleep(200));
}
await lh.close();
process.disconnect();
