import { expect, onTestFinished, test } from "vitest";
import { cuttingProxy } from "../support/cutting-proxy.js";
import { setup } from "../support/world.js";

/** A dropQueue whose commit was not answered was tried again, found no queue, and raised LH_UNKNOWN_QUEUE although it had dropped it. */
test.each(["before", "after"] as const)(
  "a drop whose connection is cut %s its commit succeeds",
  async (when) => {
    const world = await setup();
    await world.queue("mail");
    const proxy = await cuttingProxy(world.url);
    onTestFinished(() => proxy.close());
    const lh = await world.connect({ url: proxy.url });
    proxy.arm(when, "commit\0"); // not "read committed"
    await lh.dropQueue("mail");
    expect(proxy.cuts[when]).toBe(1);
    expect(await world.sql("select 1 from leasehold.queues")).toEqual([]);
    await expect(lh.dropQueue("mail")).rejects.toMatchObject({ code: "LH_UNKNOWN_QUEUE" });
    await lh.close();
  },
);
