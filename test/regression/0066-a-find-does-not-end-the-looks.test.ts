import { expect, test } from "vitest";
import type { Queue } from "../../src/index.js";
import { heldClock } from "../support/held-clock.js";
import { setup, type World } from "../support/world.js";
import { gate, startWorker, until } from "../worker/worker-world.js";

/** The idle poll comes after 1.7 to 2 s. */
const shorterThanPollMs = 1_600;

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

  // Time passes slowly and never as far as to the idle poll: a claim that met a lock is tried again after a pause, which is held too.
  let leftMs = shorterThanPollMs;
  const startedInTime = (payload: string) => (): boolean => {
    if (leftMs-- > 0) clock.elapse(1);
    return started.includes(payload);
  };
  await until("it waits for its look at 25 ms", () => clock.held().includes(25));
  await commitFirst();
  await until("the first has started", startedInTime("first"));
  await until("it waits for its look at 100 ms", () => clock.held().includes(100));
  await commitSecond();
  await until("the second has started", startedInTime("second"));
  expect(started).toEqual(["first", "second"]);
});
