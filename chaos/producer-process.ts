import { setTimeout as sleep } from "node:timers/promises";
import { Dice } from "../simulation/dice.js";
import { connect } from "../src/index.js";
import { Journal } from "./journal.js";
import { commitLate } from "./late-commits.js";
import {
  type ChaosJob,
  type ChaosJobs,
  hotKeysCount,
  hotWorkMs,
  keysCount,
  maxAttempts,
  type ProducerTask,
  queueName,
  schema,
} from "./settings.js";

/** Some producers of a chaos run. Each sends one job after another, and writes down what was acknowledged. Ends its run when told to stop. */
const task = JSON.parse(process.argv[2] ?? "{}") as ProducerTask;
process.on("disconnect", () => process.exit(0));

const hotShare = 0.2;
const latePauseMs = 5_000;
const journal = new Journal(task.journal);
const lh = await connect({ url: task.url, schema, logger: false });
const queue = await lh.queue<ChaosJobs>(queueName);
let isOver = false;
process.on("message", () => {
  isOver = true;
});

async function produce(dice: Dice): Promise<void> {
  const pauseMs = (1_000 * task.producers) / task.jobsPerSecond;
  while (!isOver) {
    await sleep(dice.between(0, 2 * pauseMs));
    const isHot = dice.chance(hotShare);
    const key = isHot ? `hot${dice.whole(1, hotKeysCount)}` : `k${dice.whole(1, keysCount)}`;
    const payload: ChaosJob = {
      workMs:
        !isHot && dice.chance(0.05) ? dice.between(100, 1_500) : dice.between(0, isHot ? hotWorkMs : 10),
      failures: !isHot && dice.chance(0.03) ? 1 : 0,
      effect: dice.pick(["none", "once", "fenced"] as const),
    };
    try {
      const { id } = await queue.enqueue("work", payload, { partitionKey: key, maxAttempts });
      journal.note({ is: "acknowledged", id, key });
    } catch {
      // It may be there or not; nobody was promised anything.
      await sleep(200);
    }
  }
}

async function produceLate(dice: Dice): Promise<void> {
  while (!isOver) {
    await sleep(dice.between(0, 2 * latePauseMs));
    await commitLate({ lh, queue, journal }, dice).catch(() => sleep(200));
  }
}

process.send?.("ready");
const all = new Dice(task.seed);
await Promise.all([
  ...Array.from({ length: task.producers }, (_, n) => produce(all.fork(String(n)))),
  ...Array.from({ length: task.lateProducers }, (_, n) => produceLate(all.fork(`late ${n}`))),
]);
await lh.close();
process.disconnect();
