import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { type Queue, retryAfter } from "../../src/index.js";
import { withoutPolls } from "../support/held-clock.js";
import { setup, type World } from "../support/world.js";
import { countOf, gate, heard, startWorker, until } from "./worker-world.js";

const jobs = (kind: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    kind,
    payload: n,
    partitionKey: `${kind}-${n}`,
    maxAttempts: 1_000,
  }));

/** Keeps a hundred fresh rows waiting until the end of the test. */
function keepBacklog(world: World, inbox: Queue): void {
  let isOver = false;
  const feed = async () => {
    while (!isOver) {
      if ((await countOf(world, "pending")) < 100) await inbox.enqueueMany(jobs("fresh", 100));
      await sleep(20);
    }
  };
  const fed = feed();
  onTestFinished(async () => {
    isOver = true;
    await fed;
  });
}

for (const order of ["key", "none"] as const) {
  for (const concurrency of [1, 2, 8]) {
    test(`retries get their turn in a backlog without end (order ${order}, concurrency ${concurrency})`, async () => {
      const world = await setup({ workerId: "a", ...withoutPolls() });
      const inbox = await world.queue("inbox", { order });
      await inbox.enqueueMany(jobs("fresh", 100));
      await inbox.enqueueMany(jobs("again", 5));
      const done: number[] = [];
      await startWorker(
        world.lh,
        {
          again: (job) => {
            if (job.attempt < 3) throw retryAfter(20);
            done.push(job.attempt);
          },
          fresh: () => sleep(1),
        },
        { concurrency },
      );
      keepBacklog(world, inbox);
      await until("all retries are done, without a poll", () => done.length === 5);
      expect(done).toEqual([3, 3, 3, 3, 3]);
    });
  }
}

for (const concurrency of [1, 2, 8]) {
  test(`fresh rows get their turn among endless retries (concurrency ${concurrency})`, async () => {
    const world = await setup({ workerId: "a", ...withoutPolls() });
    const inbox = await world.queue();
    await inbox.enqueueMany(jobs("endless", 40));
    const started = heard(world.lh, "job:started");
    const endless = async () => {
      await sleep(2);
      throw retryAfter(0);
    };
    await startWorker(world.lh, { endless, fresh: () => {} }, { concurrency });
    await until("retries go round, without a poll", () => started.length > 100);
    await inbox.enqueueMany(jobs("fresh", 30));
    const freshAt = (): number[] => started.flatMap(({ kind }, at) => (kind === "fresh" ? [at] : []));
    await until("fresh rows run, without a poll", () => freshAt().length === 30);
    // Turn by turn there would be about 30 retries among them.
    expect(freshAt().at(-1)! - freshAt()[0]!).toBeLessThan(600);
  });
}

test("a row that has crashed its worker twice runs alone of its sort, and takes no slots from others", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await inbox.enqueueMany(jobs("suspect", 6));
  await world.sql("update leasehold.inbox set crashes = 2, attempts = 2");
  const held = gate();
  let suspects = 0;
  const worker = await startWorker(
    world.lh,
    {
      suspect: async () => {
        suspects++;
        await held.passed;
      },
      fresh: () => held.passed,
      brief: () => {},
    },
    { concurrency: 8 },
  );
  await until("the first suspect runs", () => suspects === 1);
  await inbox.enqueueMany(jobs("brief", 10));
  await until("the brief ones are done", async () => (await inbox.stats()).pending === 5);
  // Fewer than a claim takes, so that it sees the other suspects too.
  await inbox.enqueueMany(jobs("fresh", 10));
  await until("fresh rows fill the other slots", () => worker.load.running === 8);
  expect(suspects).toBe(1);
});
