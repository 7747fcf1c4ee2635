import { expect, test } from "vitest";
import { openTransaction } from "../support/claims.js";
import { settableClock, setup } from "../support/world.js";

/** A takeover skipped rows that were locked: while a worker settled the rest of its run, the first row was given back alone, and those behind it were completed before it. */
test("a lost run of which a row is locked is not given back, and then whole", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2, 3].map((n) => ({ kind: "k", payload: n, partitionKey: "a" })));
  const run = await inbox.claim({ workerId: "slow", leaseMs: 1_000 });
  clock.advance(2_000);
  const settling = await openTransaction(world);
  await settling.tx.query(`select 1 from ${world.schema}.inbox where id = $1 for update`, [run[1]!.id]);
  expect(await inbox.claim({ workerId: "other" })).toEqual([]);
  const states = "select status, attempts, crashes from leasehold.inbox order by seq";
  expect(await world.sql(states)).toEqual(
    Array.from({ length: 3 }, () => ({ status: "processing", attempts: 1, crashes: 0 })),
  );
  await settling.rollback();
  expect(await inbox.claim({ workerId: "other" })).toEqual([]);
  expect(await world.sql(states)).toEqual([
    { status: "pending", attempts: 1, crashes: 1 },
    { status: "pending", attempts: 0, crashes: 0 },
    { status: "pending", attempts: 0, crashes: 0 },
  ]);
});
