import { setTimeout as sleep } from "node:timers/promises";
import { Dice } from "../simulation/dice.js";
import { connect } from "../src/index.js";
import {
  type DaysPassed,
  drivenClock,
  keysCount,
  type ProcessFigures,
  queueName,
  type SoakJob,
  type SoakTask,
  schema,
} from "./settings.js";

/** The producer of a soak: jobs at a steady rate, some that fail, some that die, some for later, some that are sent twice. */
const task = JSON.parse(process.argv[2] ?? "{}") as SoakTask;
process.on("disconnect", () => process.exit(0));

const clock = drivenClock();
const lh = await connect({ url: task.url, schema, clock, logger: false });
const queue = await lh.queue<{ work: SoakJob }>(queueName);
const dice = new Dice(1);
let done = 0;
let failed = 0;

process.on("message", ({ days }: DaysPassed) => {
  clock.days = days;
  const { rss, heapUsed } = process.memoryUsage();
  const mb = { rssMb: rss / 1_048_576, heapMb: heapUsed / 1_048_576 };
  const figures: ProcessFigures = { name: task.name, ...mb, done, failed, waitsMs: [], claimsMs: [] };
  process.send?.(figures);
});

async function send(n: number): Promise<void> {
  // One in fifty fails once; one in five hundred three times, and becomes a dead letter.
  const payload = {
    workMs: dice.between(0, 10),
    failures: Number(dice.chance(0.02)) * dice.pick([1, 1, 1, 1, 1, 1, 1, 1, 1, 3]),
    text: "x".repeat(dice.whole(10, 400)),
  };
  const later = dice.chance(0.05) ? { delayMs: dice.whole(100, 60_000) } : {};
  const twice = dice.chance(0.1) ? { idempotencyKey: `job-${n - (n % 2)}` } : {};
  const partitionKey = `order:${dice.whole(1, keysCount)}`;
  try {
    await queue.enqueue("work", payload, { partitionKey, maxAttempts: 3, ...later, ...twice });
    done++;
  } catch {
    failed++;
  }
}

process.send?.("ready");
const startedAtMs = performance.now();
for (let n = 0; ; n++) {
  const dueInMs = startedAtMs + (n * 1_000) / task.jobsPerSecond - performance.now();
  if (dueInMs > 1) await sleep(dueInMs);
  void send(n);
}
