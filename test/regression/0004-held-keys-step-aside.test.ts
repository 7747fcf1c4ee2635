import { expect, test } from "vitest";
import { openTransaction, untilBlockedBy } from "../support/claims.js";
import { setup } from "../support/world.js";

/** One open transaction held up everything that its process enqueued, or the fourth held key waited for the first. */
test.each([{}, { idempotencyKey: "mine" }])(
  "in a strict queue a held key does not hold up other keys (%o)",
  async (own) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order: "key", strict: true });
    const holder = await openTransaction(world);
    await inbox.enqueue("k", 1, { partitionKey: "held", tx: holder.tx });
    const blocked = inbox.enqueue("k", 2, { partitionKey: "held", ...own });
    await untilBlockedBy(world, holder.pid);
    await inbox.enqueue("k", 3, {
      partitionKey: "other",
      ...("idempotencyKey" in own ? { idempotencyKey: "another" } : {}),
    });
    await holder.commit();
    expect(await blocked).toMatchObject({ duplicate: false });
  },
);

test("jobs of one held key keep their order while they wait", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", strict: true });
  const holder = await openTransaction(world);
  await inbox.enqueue("k", 0, { partitionKey: "held", tx: holder.tx });
  const first = inbox.enqueue("k", 1, { partitionKey: "held" });
  await untilBlockedBy(world, holder.pid);
  await inbox.enqueue("k", "other", { partitionKey: "other" });
  const rest = [2, 3, 4].map((n) => inbox.enqueue("k", n, { partitionKey: "held" }));
  await holder.commit();
  await Promise.all([first, ...rest]);
  const line = await inbox.claim({ workerId: "w" });
  expect(line.filter((job) => job.partitionKey === "held").map((job) => job.payload)).toEqual([
    0, 1, 2, 3, 4,
  ]);
});

test("the fourth held key does not wait for the first one's transaction", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const holders: Awaited<ReturnType<typeof openTransaction>>[] = [];
  for (let n = 0; n < 4; n++) {
    const holder = await openTransaction(world);
    await inbox.enqueue("k", n, { idempotencyKey: `held${n}`, tx: holder.tx });
    holders.push(holder);
  }
  const calls = holders.map((_, n) => inbox.enqueue("k", n, { idempotencyKey: `held${n}` }));
  await inbox.enqueue("k", 9, { idempotencyKey: "free" });
  await holders[3]!.commit();
  expect(await calls[3]).toMatchObject({ duplicate: true });
  for (const holder of holders.slice(0, 3)) await holder.commit();
  expect(await Promise.all(calls)).toMatchObject([
    { duplicate: true },
    { duplicate: true },
    { duplicate: true },
    { duplicate: true },
  ]);
});
