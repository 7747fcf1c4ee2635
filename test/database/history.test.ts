import { expect, test } from "vitest";
import { setup } from "../support/world.js";

test("what a person does to a queue is in the history, once, with who did it", async () => {
  const world = await setup();
  const { lh } = world;
  const mail = await lh.queue("mail", { order: "key" });
  await lh.queue("mail", { order: "key" });
  await mail.pause();
  await mail.pause();
  await mail.resume();
  await mail.resume();
  await mail.change({ maxAttempts: 3 });
  await lh.dropQueue("mail");
  const entries = [...(await lh.history({ queue: "mail" }))].reverse();
  expect(entries.map(({ kind }) => kind)).toEqual([
    "queue:created",
    "queue:paused",
    "queue:resumed",
    "queue:changed",
    "queue:dropped",
  ]);
  expect(entries[3]?.detail).toEqual({ maxAttempts: 3 });
  const [{ user } = { user: "" }] = await world.sql<{ user: string }>("select session_user as user");
  expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set([user]));
});

test("the history is read in pages, newest first, by time and kind", async () => {
  const { lh, sql } = await setup();
  await sql(`insert into leasehold.history (at, kind, count)
    select '2026-01-01'::timestamptz + n * interval '1 hour', case when n % 2 = 0 then 'even' else 'odd' end, n from generate_series(0, 9) n`);
  const counts = async (filter: Parameters<typeof lh.history>[0]): Promise<(number | null)[]> =>
    (await lh.history(filter)).map(({ count }) => count);
  expect(await counts({ kind: "odd", limit: 2 })).toEqual([9, 7]);
  const [, second] = await lh.history({ kind: "odd", limit: 2 });
  expect(await counts({ kind: ["odd"], before: second?.id })).toEqual([5, 3, 1]);
  expect(
    await counts({
      kind: ["odd", "even"],
      from: new Date("2026-01-01T02:00Z"),
      to: new Date("2026-01-01T04:00Z"),
    }),
  ).toEqual([3, 2]);
  for (const filter of [{ before: "x" }, { from: "2026" }, { kind: 3 }, { limit: 0 }, { quee: "a" }])
    await expect(lh.history(filter as never)).rejects.toMatchObject({ code: "LH_INVALID_OPTION" });
});

test("housekeeping keeps a week of it, and no more than 100 000 entries", async () => {
  const { lh, sql } = await setup();
  await sql(
    `insert into leasehold.history (at, kind) select now() - interval '8 days', 'old' from generate_series(1, 10001)`,
  );
  await sql(`insert into leasehold.history (at, kind) values (now() - interval '6 days', 'recent')`);
  await lh.housekeep();
  expect((await lh.history()).map(({ kind }) => kind)).toContain("recent");
  expect(await lh.history({ kind: "old" })).toEqual([]);
  await sql(`insert into leasehold.history (at, kind) select now(), 'many' from generate_series(1, 100500)`);
  await lh.housekeep();
  const [{ kept } = { kept: 0 }] = await sql<{ kept: number }>(
    "select count(*)::int as kept from leasehold.history",
  );
  expect(kept).toBe(100_000);
});

test("redriven and discarded jobs are in the history with their number, and rows that were taken over with whose they were", async () => {
  const world = await setup();
  const inbox = await world.queue();
  for (let n = 0; n < 3; n++) await inbox.enqueue("k", n, { partitionKey: `key-${n}` });
  const held = await inbox.claim({ workerId: "gone", limit: 3 });
  await inbox.settle(held.slice(0, 2).map((job) => ({ job, outcome: { is: "dead_letter", error: "no" } })));
  await inbox.retry({ limit: 1 });
  await inbox.discard({ status: "dead_letter", reason: "test data" });
  await world.sql(
    "update leasehold.inbox set lease_expires_at = now() - interval '1 s' where status = 'processing'",
  );
  await inbox.claim({ workerId: "next", limit: 10 });
  const entries = await world.lh.history({ kind: ["jobs:redriven", "jobs:discarded", "rows:taken_over"] });
  expect(
    entries.map(({ kind, count, workerId, detail }) => ({ kind, count, workerId, detail })).reverse(),
  ).toEqual([
    { kind: "jobs:redriven", count: 1, workerId: null, detail: { filter: { limit: 1 } } },
    {
      kind: "jobs:discarded",
      count: 1,
      workerId: null,
      detail: { reason: "test data", filter: { status: "dead_letter" } },
    },
    {
      kind: "rows:taken_over",
      count: 1,
      workerId: "next",
      detail: { from: "gone", rule: "lease", dead_letters: 0 },
    },
  ]);
});
