import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** An entry said that 300 jobs were discarded, and not which filter or ids an operator had given. */

test("the history has the filter and the reason of a redrive and a discard, bounded and without secrets", async () => {
  const world = await setup();
  const inbox = await world.queue();
  for (const kind of ["mail", "mail", "bill"])
    await inbox.enqueue(kind, { iban: "DE02" }, { partitionKey: "order:1" });
  const held = await inbox.claim({ workerId: "w", limit: 10 });
  await inbox.settle(held.map((job) => ({ job, outcome: { is: "dead_letter", error: "no" } })));
  await inbox.retry({ kind: "mail", partitionKey: "order:1" });
  const { id } = await inbox.enqueue("mail", {});
  await inbox.discard({
    ids: [id, ...Array<string>(30).fill(id)],
    reason: `password=tiger ${"x".repeat(2_000)}`,
  });
  const [discarded, redriven] = await world.lh.history({ kind: ["jobs:redriven", "jobs:discarded"] });
  expect(redriven).toMatchObject({ count: 2, detail: { filter: { kind: "mail", partitionKey: "order:1" } } });
  expect(discarded).toMatchObject({ count: 1, detail: { filter: { ids: Array<string>(20).fill(id) } } });
  const reason = String(discarded?.detail.reason);
  expect(reason).toMatch(/^password=\*\*\* x+$/);
  expect(reason.length).toBeLessThanOrEqual(500);
});

test("a library that gives no detail can still redrive and discard", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("mail", {}, { delayMs: 60_000 });
  const ids = [[id], ["scheduled", "pending"]];
  const redrive =
    "select leasehold.inbox_redrive($1::uuid[], $2::text[], gen_random_uuid(), null::timestamptz) as changed";
  expect(await world.sql(redrive, ids)).toEqual([{ changed: 1 }]);
  const discard =
    "select leasehold.inbox_discard($1::uuid[], $2::text[], 'old', gen_random_uuid(), null::timestamptz) as changed";
  expect(await world.sql(discard, ids)).toEqual([{ changed: 1 }]);
  expect(await world.lh.history({ kind: "jobs:discarded" })).toMatchObject([{ detail: { reason: "old" } }]);
});
