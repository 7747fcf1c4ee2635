import { expect, test } from "vitest";
import type { Queue } from "../../src/index.js";
import { heldClock } from "../support/held-clock.js";
import { setup, type World } from "../support/world.js";
import { gate, startWorker, until } from "../worker/worker-world.js";

/** An insert that sees no wish to be woken, because there is none yet, and commits when it is told to. */
async function insertedBefore(world: World, inbox: Queue, payload: string): Promise<() => Promise<void>> {
  const inserted = gate();
  const mayCommit = gate();
  const committed = world.lh.transaction(async (tx) => {
    await inbox.enqueue("k", payload, { tx });
    inserted.open();
    await mayCommit.passed;
  });
  await inserted.passed;
  return async () => {
    mayCommit.open();
    await committed;
  };
}

test("a job that was inserted before the wish and is seen after a find is found by the next look, not by the poll", async () => {
  const clock = heldClock({ longMs: 20, isStill: true });
  const world = await setup({ workerId: "a", clock, ttlMs: 600_000 });
  const inbox = await world.queue();
  const commitFirst = await insertedBefore(world, inbox, "first");
  const commitSecond = await insertedBefore(world, inbox, "second");
  const started: unknown[] = [];
  await startWorker(world.lh, { k: (job) => void started.push(job.payload) });

  await until("it waits for its look at 25 ms", () => clock.held().includes(25));
  await commitFirst();
  clock.elapse(25);
  await until("the first has started", () => started.includes("first"));
  await until("it waits for its look at 100 ms", () => clock.held().includes(100));
  await commitSecond();
  clock.elapse(100);
  await until("the second has started", () => started.includes("second"));
  expect(started).toEqual(["first", "second"]);
});
