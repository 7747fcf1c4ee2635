import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** A batch that picked the same rows again took them for the end. */
test("retry reaches all 2 500 jobs scheduled for later", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(
    Array.from({ length: 2_500 }, (_, i) => ({ kind: "k", payload: i, delayMs: 3_600_000 })),
  );
  expect(await inbox.retry({ status: "scheduled" })).toBe(2_500);
});

test("retry finds the one in backoff behind 1 000 due jobs", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(Array.from({ length: 1_001 }, (_, i) => ({ kind: "k", payload: i })));
  await world.sql(
    "update leasehold.inbox set attempts = 1, available_at = now() + interval '1 hour' where seq = (select max(seq) from leasehold.inbox)",
  );
  expect(await inbox.retry({ status: "pending" })).toBe(1);
});
