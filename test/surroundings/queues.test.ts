import { expect, test } from "vitest";
import { isFull } from "../support/length.js";
import { setup } from "../support/world.js";
import { live } from "./life.js";

/** How many queues there are, and how a queue is cut. */

const queues = isFull ? 200 : 40;

test(`${queues} queues in one schema: it works`, async () => {
  const world = await setup();
  for (let n = 0; n < queues; n++) {
    const queue = await world.lh.queue(`other_${n}`, { order: n % 2 === 0 ? "key" : "none" });
    await queue.enqueue("other", n);
  }
  await live(world);
  const left: unknown[] = [];
  for (let n = 0; n < queues; n++)
    for (const job of await (await world.lh.queue(`other_${n}`)).claim({ workerId: "w" }))
      left.push(job.payload);
  expect(left).toEqual(Array.from({ length: queues }, (_, n) => n));
}, 600_000);

test.each([1, 1_024])("queues of %i bucket(s): it works", async (buckets) => {
  await live(await setup(), undefined, { buckets });
});
