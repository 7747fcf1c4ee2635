import { expect, test } from "vitest";
import type { Queue } from "../../src/index.js";
import { settableClock, setup, type World } from "../support/world.js";

const id = "0193f000-0000-7000-8000-000000000001";
const dayMs = 86_400_000;

/** Each way to send a job of this id and key; what it stored. */
const ways = {
  "a plain insert": async (world: World) =>
    (
      await world.sql(
        "insert into leasehold.inbox (id, kind, payload, idempotency_key) values ($1, 'k', '1', 'key1') on conflict do nothing returning id",
        [id],
      )
    ).length,
  "enqueue in SQL": async (world: World) => {
    const job = { id, kind: "k", payload: 1, idempotency_key: "key1" };
    const [row] = await world.sql<{ id: string; duplicate: boolean }>(
      "select id, duplicate from leasehold.enqueue($1)",
      [JSON.stringify(job)],
    );
    expect(row?.id).toBe(id);
    return row?.duplicate === false ? 1 : 0;
  },
} as const;
const names = Object.keys(ways) as (keyof typeof ways)[];

async function runOne(inbox: Queue): Promise<number> {
  const jobs = await inbox.claim({ workerId: "w" });
  await inbox.settle(jobs.map((job) => ({ job, outcome: { is: "complete" } })));
  return jobs.length;
}

/** A repeat with another id was a duplicate; one with the same id was stored and ran again. */
test.each(names.flatMap((first) => names.map((second) => [first, second] as const)))(
  "after %s, %s of the same id and key is a duplicate, before the job has run and after",
  async (first, second) => {
    const world = await setup();
    const inbox = await world.queue();
    expect(await ways[first](world)).toBe(1);
    expect(await ways[second](world)).toBe(0);
    expect(await runOne(inbox)).toBe(1);
    expect(await ways[second](world)).toBe(0);
    expect(await runOne(inbox)).toBe(0);
  },
);

test.each(names)("%s of the same id and key is stored again when the window has passed", async (way) => {
  const clock = settableClock(new Date(Date.now() - 30 * dayMs));
  const world = await setup({ clock });
  const inbox = await world.queue();
  await inbox.enqueue("k", 1, { idempotencyKey: "key1" });
  await world.sql("update leasehold.dedupe set job_id = $1", [id]);
  expect(await runOne(inbox)).toBe(1);
  expect(await ways[way](world)).toBe(1);
  clock.advance(30 * dayMs);
  expect(await runOne(inbox)).toBe(1);
});

test("a call of several jobs stores those whose key is new, and tells the others' jobs", async () => {
  const world = await setup();
  await world.queue();
  const [earlier] = await world.sql<{ id: string }>("select id from leasehold.enqueue($1)", [
    '{"kind": "k", "idempotency_key": "a"}',
  ]);
  const jobs = ["a", "b", "b", null].map((idempotency_key) => ({ kind: "k", idempotency_key }));
  const rows = await world.sql<{ id: string; duplicate: boolean }>("select * from leasehold.enqueue($1)", [
    JSON.stringify(jobs),
  ]);
  expect(rows.map((row) => row.duplicate)).toEqual([true, false, true, false]);
  expect(rows[0]?.id).toBe(earlier?.id);
  expect(rows[2]?.id).toBe(rows[1]?.id);
  const stored = await world.sql<{ id: string }>("select id from leasehold.inbox order by seq");
  expect(stored.map((row) => row.id)).toEqual([earlier?.id, rows[1]?.id, rows[3]?.id]);
});
