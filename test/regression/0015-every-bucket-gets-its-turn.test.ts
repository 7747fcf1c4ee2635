import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** Rotation by the limit met the same buckets again and again, and a bookmark was forgotten when its bucket was not reached. */
test.each([8, 10, 25])(
  "a claimer with limit %i serves every key although there is always more of the others",
  async (limit) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order: "key", buckets: 60 });
    const keys = Array.from({ length: 180 }, (_, i) => `key-${i}`);
    const jobs = keys.flatMap((partitionKey) =>
      Array.from({ length: 30 }, (_, n) => ({ kind: "k", payload: n, partitionKey })),
    );
    await inbox.enqueueMany(jobs);
    const served = new Set<string>();
    for (let pass = 0; pass < 900 && served.size < keys.length; pass++) {
      const claimed = await inbox.claim({ workerId: "w", limit });
      for (const job of claimed) served.add(job.partitionKey);
      await inbox.settle(claimed.map((job) => ({ job, outcome: { is: "release" } })));
    }
    expect(served.size).toBe(keys.length);
  },
);
