import { expect, test } from "vitest";
import { deadLetter } from "../../src/index.js";
import { settableClock, setup } from "../support/world.js";

const hourMs = 3_600_000;

/** They were due at the time of the redrive, so they waited until the clock had caught up. */
test.each(["key", "none"] as const)(
  "redriven rows can be claimed after the clock was set back, whatever they waited for, order %s",
  async (order) => {
    const clock = settableClock();
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order });
    await inbox.enqueue("later", 1, { partitionKey: "later", delayMs: 24 * hourMs });
    await inbox.enqueueMany(["dead", "retry"].map((kind) => ({ kind, payload: kind, partitionKey: kind })));
    clock.advance(hourMs);
    for (const job of await inbox.claim({ workerId: "w" }))
      await inbox.fail(job, job.kind === "dead" ? deadLetter("no") : new Error("not yet"));
    clock.advance(-100);
    expect(await inbox.claim({ workerId: "w" })).toEqual([]);
    let changed = 0;
    for (const status of ["dead_letter", "pending", "scheduled"] as const)
      changed += await inbox.retry({ status });
    expect(changed).toBe(3);
    clock.advance(-hourMs / 2);
    const claimed = await inbox.claim({ workerId: "w" });
    expect(claimed.map((job) => [job.kind, job.attempt]).toSorted()).toEqual([
      ["dead", 1],
      ["later", 1],
      ["retry", 2],
    ]);
  },
);

test.each(["key", "none"] as const)(
  "a job that fails after the clock was set back waits for its backoff, order %s",
  async (order) => {
    const clock = settableClock();
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order });
    await inbox.enqueue("k", 1);
    clock.advance(-hourMs);
    const [job] = await inbox.claim({ workerId: "w" });
    await inbox.fail(job!, new Error("not yet"));
    expect(await inbox.claim({ workerId: "w" })).toEqual([]);
    clock.advance(10_000);
    expect(await inbox.claim({ workerId: "w" })).toHaveLength(1);
  },
);
