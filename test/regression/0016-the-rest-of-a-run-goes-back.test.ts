import { expect, test } from "vitest";
import { deadLetter } from "../../src/index.js";
import { setup } from "../support/world.js";

/** A loop by hand failed the first row of a run and went on with the next one of the same key, which settled before it. */
test("when a row is tried again later, the rows of its run behind it go back with it and can't be settled", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2, 3].map((n) => ({ kind: "k", payload: n, partitionKey: "order:9182" })));
  const [first, second, third] = await inbox.claim({ workerId: "w" });
  expect(await inbox.fail(first!, new Error("smtp"))).toBe(true);
  expect(await inbox.complete(second!)).toBe(false);
  await expect(third!.transaction((tx) => tx.query("select 1"))).rejects.toMatchObject({
    code: "LH_LEASE_LOST",
  });
  expect(await world.sql("select payload, status, attempts from leasehold.inbox order by seq")).toEqual([
    { payload: 1, status: "pending", attempts: 1 },
    { payload: 2, status: "pending", attempts: 0 },
    { payload: 3, status: "pending", attempts: 0 },
  ]);
});

test("when a row is released, the rows of its run behind it go back with it", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2].map((n) => ({ kind: "k", payload: n, partitionKey: "a" })));
  const [first, second] = await inbox.claim({ workerId: "w" });
  expect(await inbox.release(first!)).toBe(true);
  expect(await inbox.release(second!)).toBe(false);
  expect((await inbox.claim({ workerId: "w" })).map((job) => [job.payload, job.attempt])).toEqual([
    [1, 1],
    [2, 1],
  ]);
});

test("when a row is parked, the rows of its run behind it go back; when its key goes on, they stay in hand", async () => {
  const world = await setup();
  for (const onDeadLetter of ["park", "continue"] as const) {
    const queue = await world.queue(onDeadLetter, { order: "key", onDeadLetter });
    await queue.enqueueMany([1, 2].map((n) => ({ kind: "k", payload: n, partitionKey: "a" })));
    const [first, second] = await queue.claim({ workerId: "w" });
    await queue.fail(first!, deadLetter("no"));
    expect(await queue.complete(second!)).toBe(onDeadLetter === "continue");
  }
});

test("a failure that comes a second time, for a row no longer held, takes nothing else back", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2].map((n) => ({ kind: "k", payload: n, partitionKey: "a" })));
  const [first, second] = await inbox.claim({ workerId: "w" });
  expect(await inbox.fail(first!, deadLetter("no"))).toBe(true);
  expect(await inbox.fail(first!, new Error("again"))).toBe(false);
  expect(await inbox.complete(second!)).toBe(true);
});
