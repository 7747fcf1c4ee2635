import pg from "pg";
import { connect } from "../src/index.js";
import {
  type DaysPassed,
  dayMs,
  drivenClock,
  type ProcessFigures,
  queueName,
  type SoakJob,
  type SoakTask,
  schema,
} from "./settings.js";
import { timedClaims } from "./timed-claims.js";

/** One worker of a soak, in a process of its own. Answers each message with its figures. */
const task = JSON.parse(process.argv[2] ?? "{}") as SoakTask;
process.on("disconnect", () => process.exit(0));

const clock = drivenClock();
const pool = new pg.Pool({ connectionString: task.url, max: 10 });
const claims = timedClaims(pool);
const lh = await connect({ pool, schema, clock, logger: false, workerId: task.name });
let done = 0;
let failed = 0;
let waitsMs: number[] = [];
lh.on("activity:failed", () => {
  failed++;
});

/** Not of jobs that were due before the last day began: that day was passed over. */
function noteWait(availableAt: Date, attempt: number): void {
  const waitMs = (clock.databaseNow()?.getTime() ?? 0) - availableAt.getTime();
  if (attempt === 1 && waitMs < dayMs / 2) waitsMs.push(waitMs);
}

const worker = lh.worker<{ work: SoakJob }>(
  queueName,
  {
    work: async (job) => {
      noteWait(job.availableAt, job.attempt);
      await new Promise((resolve) => setTimeout(resolve, job.payload.workMs));
      if (job.attempt <= job.payload.failures) throw new Error("told to fail");
      done++;
    },
  },
  { concurrency: 10, handlesSignals: false },
);

process.on("message", ({ days }: DaysPassed) => {
  clock.days = days;
  const { rss, heapUsed } = process.memoryUsage();
  const figures: ProcessFigures = {
    name: task.name,
    rssMb: rss / 1_048_576,
    heapMb: heapUsed / 1_048_576,
    done,
    failed,
    waitsMs,
    claimsMs: claims.take(),
  };
  waitsMs = [];
  process.send?.(figures);
});
await worker.start();
process.send?.("ready");
