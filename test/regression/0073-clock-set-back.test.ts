import { expect, test } from "vitest";
import { settableClock, setup } from "../support/world.js";

/** Jobs that were enqueued before the database's clock was set back were not due until it had caught up. */
test.each(["key", "none"] as const)(
  "a job without a delay can be claimed after the clock was set back, order %s",
  async (order) => {
    const clock = settableClock();
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order });
    const { id } = await inbox.enqueue("k", 1, { partitionKey: "a" });
    clock.advance(-3_600_000);
    expect((await inbox.why(id)).reason).toBe("no_workers");
    const [job] = await inbox.claim({ workerId: "w" });
    expect(job?.id).toBe(id);
    await inbox.release(job!);
    expect(await inbox.claim({ workerId: "w" })).toHaveLength(1);
  },
);

test("a retry waits for its time, as the clock says", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  await inbox.enqueue("k", 1, { partitionKey: "a" });
  const [job] = await inbox.claim({ workerId: "w" });
  await inbox.fail(job!, new Error("not yet"));
  clock.advance(-3_600_000);
  expect(await inbox.claim({ workerId: "w" })).toEqual([]);
  clock.advance(3_600_000 + 10_000);
  expect(await inbox.claim({ workerId: "w" })).toHaveLength(1);
});
