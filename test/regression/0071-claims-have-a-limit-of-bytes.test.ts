import { expect, test } from "vitest";
import { defaults } from "../../src/settings.js";
import { setup } from "../support/world.js";

/** Claims counted rows only: a batch of rows with 4 MB each ran the process out of memory. */
const megabyte = "x".repeat(1_048_576);

test.each(["key", "none"] as const)(
  "a claim takes no more bytes than its limit, in order, order %s",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order, payloadLimitBytes: 16_777_216 });
    for (let n = 0; n < 20; n++) await inbox.enqueue("k", { n, megabyte }, { partitionKey: `k${n % 2}` });
    const most = defaults.claimBytesMax / megabyte.length;
    const taken: number[] = [];
    for (let claims = 0; claims < 20 && taken.length < 20; claims++) {
      const jobs = await inbox.claim({ workerId: "w", limit: 100 });
      expect(jobs.length).toBeLessThanOrEqual(most);
      expect(jobs.length).toBeGreaterThan(0);
      taken.push(...jobs.map((job) => (job.payload as { n: number }).n));
      await inbox.settle(jobs.map((job) => ({ job, outcome: { is: "complete" } })));
    }
    expect(taken.filter((n) => n % 2 === 0)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
    expect(taken.length).toBe(20);
  },
);

test.each(["key", "none"] as const)(
  "a row larger than the limit is claimed alone, order %s",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order, payloadLimitBytes: 16_777_216 });
    const large = "x".repeat(defaults.claimBytesMax + 1);
    await inbox.enqueueMany(
      [1, 2, 3].map((n) => ({ kind: "k", payload: n === 2 ? large : n, partitionKey: "a" })),
    );
    const sizes: number[] = [];
    for (let claims = 0; claims < 3; claims++) {
      const jobs = await inbox.claim({ workerId: "w" });
      sizes.push(jobs.length);
      await inbox.settle(jobs.map((job) => ({ job, outcome: { is: "complete" } })));
    }
    expect(sizes).toEqual([1, 1, 1]);
  },
);

test.each(["key", "none"] as const)(
  "a worker holds no more bytes than its limit, and does all of it, order %s",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order, payloadLimitBytes: 16_777_216 });
    for (let n = 0; n < 60; n++) await inbox.enqueue("k", megabyte, { partitionKey: `k${n % 20}` });
    let most = 0;
    let done = 0;
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const worker = world.lh.worker(
      "inbox",
      {
        k: async () => {
          most = Math.max(most, worker.load.inHand);
          await new Promise((resolve) => setImmediate(resolve));
          if (++done === 60) finish();
        },
      },
      { concurrency: 2 },
    );
    await worker.start();
    await finished;
    await worker.stop();
    // Two claims may be under way when the limit is reached.
    expect(most * megabyte.length).toBeLessThanOrEqual(defaults.inHandBytesMax + 2 * defaults.claimBytesMax);
  },
);
