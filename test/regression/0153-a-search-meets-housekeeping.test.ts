import { expect, test } from "vitest";
import { deadLetter, type Queue } from "../../src/index.js";
import { settableClock, setup } from "../support/world.js";

const dayMs = 86_400_000;

async function rest(inbox: Queue, cursor: string): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (let next: string | null = cursor; next !== null; ) {
    const page = await inbox.search({ status: "dead_letter", limit: 2, cursor: next });
    found.push(...page.jobs.map(({ payload }) => payload));
    next = page.cursor;
  }
  return found;
}

/** Six dead letters: the first three died a day before the others, and all at once. */
async function sixDead() {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "none" });
  for (const payloads of [
    [1, 2, 3],
    [4, 5, 6],
  ]) {
    for (const payload of payloads) await inbox.enqueue("k", payload);
    for (const job of await inbox.claim({ workerId: "w" })) await inbox.fail(job, deadLetter("no"));
    clock.advance(dayMs);
  }
  const first = await inbox.search({ status: "dead_letter", limit: 2 });
  const found = first.jobs.map(({ payload }) => payload);
  return { world, clock, inbox, found, cursor: first.cursor! };
}

/** What was moved after the first page, and before the walk came to it, was in neither part. */
test("dead letters that are moved to the archive before a search comes to them are found there", async () => {
  const { world, clock, inbox, found, cursor } = await sixDead();
  clock.advance(28 * dayMs + 60_000);
  await world.lh.housekeep();
  expect(await inbox.stats()).toMatchObject({ deadLetter: 3 });
  const all = [...found, ...(await rest(inbox, cursor))];
  expect(all).toHaveLength(6);
  expect(new Set(all)).toEqual(new Set([1, 2, 3, 4, 5, 6]));
});

test("when all are moved after the first page, each is still found once", async () => {
  const { world, clock, inbox, found, cursor } = await sixDead();
  clock.advance(40 * dayMs);
  await world.lh.housekeep();
  expect(await inbox.stats()).toMatchObject({ deadLetter: 0 });
  const all = [...found, ...(await rest(inbox, cursor))];
  expect(all).toHaveLength(6);
  expect(new Set(all)).toEqual(new Set([1, 2, 3, 4, 5, 6]));
});
