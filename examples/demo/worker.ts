import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Leasehold, type Worker } from "../../src/index.js";
import { handlers } from "./handlers.js";
import { drain, type FromWorker, reportEveryMs, type Start } from "./messages.js";
import { heartbeatMs, queueName } from "./settings.js";
import type { ShopJobs } from "./shop.js";

/** One worker process. Its environment has DATABASE_URL, LEASEHOLD_SCHEMA and WORKER_ID; what fails is in the view, so it prints nothing. */

const lastWordsMs = 5_000;

async function main(): Promise<void> {
  const lh = await connect({ logger: false, connectionsMax: 10, heartbeatMs, ttlMs: 5 * heartbeatMs });
  const tally = new Tally(lh);
  const worker = lh.worker<ShopJobs>(queueName, handlers, {
    concurrency: 12,
    middleware: [
      async (job, next) => {
        tally.started({ bucket: job.bucket, key: job.partitionKey, atMs: Date.now() }, job.crashes > 0);
        return await next();
      },
    ],
  });
  process.on("message", (message) => {
    if (message === drain) void stop(lh);
  });
  process.on("disconnect", () => void stop(lh));
  lh.on("worker:stopped", () => tally.report(worker));
  // The demo may have ended while we connected, before anybody listened for that.
  if (!process.connected) return await stop(lh);
  await worker.start();
  while (worker.state !== "stopped") {
    tally.report(worker);
    await sleep(reportEveryMs);
  }
}

/** Drains, then ends. When the demo itself is gone its database goes too, so there is a limit to the waiting. */
async function stop(lh: Leasehold): Promise<void> {
  if (!process.connected) setTimeout(() => process.exit(1), lastWordsMs).unref();
  await lh.close();
  process.exit(0);
}

function tell(message: FromWorker): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

/** Counts what happens between two reports, by the events of Leasehold. */
class Tally {
  #generation = 0;
  #done = 0;
  #retries = 0;
  #takenOver = 0;
  #starts: Start[] = [];

  constructor(lh: Leasehold) {
    lh.on("worker:registered", ({ generation }) => {
      this.#generation = Number(generation);
    });
    lh.on("job:settled", ({ status, outcome }) => {
      if (status === "completed") this.#done++;
      else if (outcome === "retry") this.#retries++;
    });
    lh.on("job:failed", ({ kind, outcome, error }) => {
      if (outcome !== "dead_letter") return;
      const words = `dead letter: ${kind}, ${error.replace(/^\w+: /, "")}`;
      tell({ is: "news", tone: "plain", words, topic: "dead letter" });
    });
    lh.on("lease:lost", ({ during }) => {
      const words = `${lh.workerId} came too late with a ${during}: the lease was lost, nothing changed`;
      tell({ is: "news", tone: "bad", words, topic: `lease lost by ${lh.workerId}` });
    });
    lh.on("workers:lost", ({ workerIds }) =>
      tell({
        is: "news",
        tone: "plain",
        words: `${lh.workerId} noticed that ${workerIds.join(", ")} is gone`,
      }),
    );
    lh.on("trust:lost", () =>
      tell({ is: "news", tone: "bad", words: `${lh.workerId} can't reach the registry and claims nothing` }),
    );
  }

  started(start: Start, isTakenOver: boolean): void {
    this.#starts.push(start);
    if (isTakenOver) this.#takenOver++;
  }

  report({ state, load }: Worker): void {
    const { running, inHand } = load;
    tell({
      is: "report",
      state,
      generation: this.#generation,
      running,
      inHand,
      done: this.#done,
      retries: this.#retries,
      takenOver: this.#takenOver,
      starts: this.#starts,
    });
    this.#done = 0;
    this.#retries = 0;
    this.#takenOver = 0;
    this.#starts = [];
  }
}

await main();
