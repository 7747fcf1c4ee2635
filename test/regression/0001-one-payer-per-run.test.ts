import { expect, test } from "vitest";
import { openTransaction } from "../support/claims.js";
import { settableClock, setup } from "../support/world.js";

/** Takeover looked no further than its own window, so the rest of a longer run was met as a run of its own and paid again. */
const rows = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ kind: "k", payload: n, partitionKey: "a" }));
const payers = "select payload from leasehold.inbox where crashes > 0 order by seq";

test("only the first row of a lost run pays, though the run is longer than the window of who takes over", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", maxCrashes: 1 });
  await inbox.enqueueMany(rows(30));
  expect(await inbox.claim({ workerId: "w1", limit: 30, run: 30, leaseMs: 1_000 })).toHaveLength(30);
  clock.advance(1_000);
  for (let i = 0; i < 5; i++) {
    for (const job of await inbox.claim({ workerId: "w2", limit: 1 })) await inbox.complete(job);
    clock.advance(5_000);
  }
  expect(await world.sql(payers)).toEqual([{ payload: 0 }]);
});

test("only the first row of a lost run pays, though other rows committed late in front of it", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", maxCrashes: 1 });
  const late = await openTransaction(world);
  await inbox.enqueueMany(rows(5), { tx: late.tx });
  await inbox.enqueueMany(rows(20));
  expect(await inbox.claim({ workerId: "w1", limit: 20, leaseMs: 1_000 })).toHaveLength(20);
  await late.commit();
  clock.advance(1_000);
  for (let i = 0; i < 5; i++) await inbox.claim({ workerId: "w2", limit: 0 });
  expect(await world.sql(payers)).toEqual([{ payload: 0 }]);
  // The others get back the attempt that the claim had counted.
  expect(await world.sql("select sum(attempts)::int as attempts from leasehold.inbox")).toEqual([
    { attempts: 1 },
  ]);
});
