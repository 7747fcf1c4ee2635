import { expect, test } from "vitest";
import { settableClock, setup } from "../support/world.js";

/** A paused queue kept expired rows in process, as if somebody were still working on them. */
test.each(["key", "none"] as const)(
  "housekeeping gives back expired rows of a paused queue with order %s",
  async (order) => {
    const clock = settableClock();
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order });
    await inbox.enqueueMany(["a", "b", "c"].map((key) => ({ kind: "k", payload: key, partitionKey: key })));
    await inbox.claim({ workerId: "w1", leaseMs: 1_000 });
    await inbox.pause();
    clock.advance(1_000);
    await world.lh.housekeep();
    expect(await inbox.stats()).toMatchObject({ processing: 0, expired: 0, retrying: 3 });
  },
);
