import { setTimeout as sleep } from "node:timers/promises";
import { deadLetter, type Handlers, retryAfter, type WorkingJob } from "../../src/index.js";
import type { ShopJobs, Work } from "./shop.js";
import { writeReceipt } from "./tables.js";

const flakyAttempts = 2;

/** What the shop does for an order. Each effect is written through job.transaction: it commits with the job's completion, or not at all. */
export const handlers: Handlers<ShopJobs> = {
  "receipt.send": async (job) => {
    await callTheWorld(job);
    if (job.payload.luck === "poison") throw deadLetter(`order ${job.payload.order}: the address bounces`);
    await job.transaction((tx) => writeReceipt(tx, job));
  },
  "refund.pay": {
    handle: async (job) => {
      await callTheWorld(job);
      if (job.payload.luck === "poison") throw new Error(`order ${job.payload.order}: the bank says no`);
      await job.transaction((tx) => writeReceipt(tx, job));
    },
    attemptsMax: 3,
    retryDelayMs: (attempt) => 250 * attempt,
  },
  "follow-up.send": async (job) => {
    await callTheWorld(job);
    await job.transaction((tx) => writeReceipt(tx, job));
  },
};

/** SMTP, a bank, and the like: takes its time, and fails now and then. The signal ends the wait when the lease is lost. */
async function callTheWorld(job: WorkingJob<string, Work>): Promise<void> {
  const { luck, takesMs } = job.payload;
  await sleep(takesMs, undefined, { signal: job.signal });
  if (luck === "flaky" && job.attempt <= flakyAttempts) {
    throw retryAfter(200 * job.attempt, "the mail server is busy");
  }
}
