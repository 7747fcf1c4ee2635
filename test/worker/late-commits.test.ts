import { expect, test } from "vitest";
import { openTransaction } from "../support/claims.js";
import { setup } from "../support/world.js";
import { startWorker, until } from "./worker-world.js";

/**
 * A hot key was claimed from the seq up to which it was done. A row that committed late, with a lower seq, ran after thousands of later rows of its key, most of them enqueued after its
 * commit. It may run after what was claimed or being claimed when it committed, and after nothing else.
 */
test("a row that commits late on a hot key is at most one claim late", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", retentionMs: 0 });
  const late = await openTransaction(world);
  await inbox.enqueue("step", "late", { partitionKey: "hot", tx: late.tx });
  const rows = 12_000;
  const steps = Array.from({ length: rows }, (_, n) => ({ kind: "step", payload: n, partitionKey: "hot" }));
  await inbox.enqueueMany(steps);
  let started = 0;
  let lateAt: number | null = null;
  const claims: number[] = [];
  world.lh.on("jobs:claimed", ({ count }) => claims.push(count));
  await startWorker(
    world.lh,
    {
      step: (job) => {
        if (job.payload === "late") lateAt = started;
        else started++;
      },
    },
    { concurrency: 4 },
  );
  await until("the key is hot", () => started > 2_000, 60_000);
  await late.commit();
  const startedAtCommit = started;
  await until("the late row has run", () => lateAt !== null, 60_000);
  // What was held then, what a claim under way brought, and one claim more.
  expect(lateAt! - startedAtCommit).toBeLessThanOrEqual(3 * Math.max(...claims));
});
