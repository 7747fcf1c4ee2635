import { expect, test } from "vitest";
import type { Queue } from "../../src/index.js";
import type { SearchFilter } from "../../src/operate/search-filter.js";
import { setup } from "../support/world.js";

/** Archived rows of one id were joined with each other, pages lost some of them, and the lowest and the highest id were never found. */

const [lowest, highest] = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"];

async function all(inbox: Queue, filter: SearchFilter): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = await inbox.search({ ...filter, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.jobs.map(({ payload }) => payload));
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

test.each([1, 2, 3, 100])("archived rows of one id are found once each (pages of %i)", async (limit) => {
  const world = await setup();
  const inbox = await world.queue();
  const [id, other] = ["01900000-0000-7000-8000-000000000001", "01900000-0000-7000-8000-000000000002"];
  await world.sql(
    `insert into leasehold.inbox_archive select r.id::uuid, n, n, now(), now(), null, now() - n * interval '1 day', 1, 0, 3, 0, 0, r.status, 'k', 'key', null, null, null, '{}', '[]', to_jsonb(n)
     from (values (1, $1, 'completed'), (2, $1, 'discarded'), (3, $1, 'completed'), (4, $2, 'completed'), (5, $3, 'completed'), (6, $4, 'completed'), (7, $4, 'completed')) r(n, id, status)`,
    [id, other, highest, lowest],
  );
  expect(await all(inbox, { status: "completed", limit })).toEqual([5, 4, 1, 3, 6, 7]);
  expect(await all(inbox, { status: "discarded", limit })).toEqual([2]);
});

test.each(["key", "none"] as const)("the lowest and the highest id are found (order %s)", async (order) => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order });
  await world.sql("insert into leasehold.inbox (id, kind, payload) values ($1, 'k', '1'), ($2, 'k', '2')", [
    lowest,
    highest,
  ]);
  for (const limit of [1, 2, 3]) {
    expect(await all(inbox, { limit })).toEqual([2, 1]);
    expect(await all(inbox, { status: "pending", limit })).toEqual([2, 1]);
  }
  const held = await inbox.claim({ workerId: "w" });
  expect(held).toHaveLength(2);
  expect(await all(inbox, { status: "processing", limit: 1 })).toEqual([1, 2]);
  await inbox.settle(held.map((job) => ({ job, outcome: { is: "dead_letter" as const, error: "no" } })));
  expect(new Set(await all(inbox, { status: "dead_letter", limit: 1 }))).toEqual(new Set([1, 2]));
  expect((await inbox.deadLetters()).groups).toMatchObject([{ count: 2 }]);
});

test("parked dead letters of the lowest and the highest id are counted", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", onDeadLetter: "park" });
  await world.sql("insert into leasehold.inbox (id, kind, payload) values ($1, 'k', '1'), ($2, 'k', '2')", [
    lowest,
    highest,
  ]);
  const held = await inbox.claim({ workerId: "w" });
  await inbox.settle(held.map((job) => ({ job, outcome: { is: "dead_letter" as const, error: "no" } })));
  expect((await inbox.deadLetters()).groups).toMatchObject([{ count: 2 }]);
});
