import { expect, test } from "vitest";
import { settableClock, setup, type World } from "../support/world.js";

const dayMs = 86_400_000;
const start = new Date("2030-01-01T12:00:00Z");

/** As many jobs as this completed while no housekeeping was done, on the days given. */
async function strays(world: World, count: number, finishedAt: readonly Date[]): Promise<void> {
  await world.sql(
    `insert into leasehold.inbox_archive (id, seq, lease_generation, available_at, created_at, finished_at, attempts, crashes, max_attempts,
       priority, partition_bucket, status, kind, partition_key, headers, errors, payload)
     select leasehold.uuid_v7(), n, n, t.at, t.at, t.at, 1, 0, 5, 0, 0, 'completed', 'k', 'key', '{}', '[]', to_jsonb(n)
     from generate_series(1, $1::int) n, unnest($2::timestamptz[]) with ordinality t(at, i) where n % $3 = t.i - 1`,
    [count, finishedAt, finishedAt.length],
  );
}

async function inRest(world: World): Promise<number> {
  const [row] = await world.sql<{ n: number }>("select count(*)::int as n from leasehold.inbox_archive_rest");
  return row!.n;
}

async function days(world: World): Promise<string[]> {
  const rows = await world.sql<{ name: string }>(
    `select right(c.relname, 8) as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'leasehold.inbox_archive'::regclass and c.relname ~ '_a[0-9]{8}$' order by 1`,
  );
  return rows.map((row) => row.name);
}

/** The most rows that one transaction has put into the archive's days. */
async function mostMovedAtOnce(world: World): Promise<number> {
  const [row] = await world.sql<{ n: number }>(
    `select coalesce(max(m.n), 0)::int as n from (
       select count(*) as n from leasehold.inbox_archive a where a.tableoid <> 'leasehold.inbox_archive_rest'::regclass group by a.xmin) m`,
  );
  return row!.n;
}

async function completeOne(world: World): Promise<string> {
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  expect(await inbox.complete(job!)).toBe(true);
  return id;
}

async function partitionOf(world: World, id: string): Promise<string> {
  const [row] = await world.sql<{ name: string }>(
    "select c.relname as name from leasehold.inbox_archive a join pg_class c on c.oid = a.tableoid where a.id = $1",
    [id],
  );
  return row!.name;
}

/** All strays were moved into their day under an exclusive lock, which every settle waited for. */
test("no round moves more than 1 000 strays at once, and all stay readable", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  const inbox = await world.queue();
  clock.advance(20 * dayMs);
  const now = clock.databaseNow()!;
  await strays(world, 3_000, [now, new Date(now.getTime() - dayMs)]);
  for (let round = 0; round < 3; round++) await world.lh.housekeep();
  expect(await mostMovedAtOnce(world)).toBeLessThanOrEqual(1_000);
  expect(await inRest(world)).toBe(3_000);
  const seen = await inbox.list({ status: "completed", limit: 1_000 });
  expect(seen).toHaveLength(1_000);
  expect(await inbox.get(seen[0]!.id)).toMatchObject({ status: "completed" });
});

test("beside many strays the days ahead are attached without a look through them", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  await world.queue();
  clock.advance(20 * dayMs);
  const now = clock.databaseNow()!;
  const before = await days(world);
  await strays(world, 1_500, [now]);
  const client = await world.client();
  const said: string[] = [];
  client.on("notice", ({ message }) => said.push(message ?? ""));
  await client.query("set client_min_messages = debug1");
  const made: number[] = [];
  while (made.at(-1) !== 0 && made.length < 20) {
    const call = `select ${world.schema}.make_archive_days('inbox', 7, $1) as made`;
    made.push((await client.query(call, [now])).rows[0].made);
  }
  expect(made).toEqual([1, 1, 1, 1, 1, 1, 1, 0]);
  const proofs = said.filter(
    (line) => line.includes("default partition") && line.includes("is implied by existing"),
  );
  expect(proofs).toHaveLength(7);
  expect(await days(world)).toHaveLength(before.length + 7);
  expect(await inRest(world)).toBe(1_500);
});

test("rows of today go to the rest, those of tomorrow to their day, and the retention empties the rest", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  await world.queue();
  clock.advance(20 * dayMs);
  await strays(world, 1_500, [clock.databaseNow()!]);
  const seen: unknown[] = [];
  world.lh.on("archive:strayed", (event) => seen.push(event));
  expect(await world.lh.housekeep()).toMatchObject({ daysMade: 7 });
  expect(seen).toEqual([{ queue: "inbox", rows: 1_001 }]);
  expect(await partitionOf(world, await completeOne(world))).toBe("inbox_archive_rest");
  clock.advance(dayMs);
  expect(await partitionOf(world, await completeOne(world))).toMatch(/^inbox_a\d{8}$/);
  expect(await world.lh.housekeep()).toMatchObject({ daysMade: 1 });
  expect(seen).toHaveLength(1);
  clock.advance(8 * dayMs);
  await world.lh.housekeep();
  expect(await inRest(world)).toBe(0);
});

test("a few strays of several days are sorted in, a day a transaction", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  await world.queue();
  clock.advance(20 * dayMs);
  const at = (ago: number) => new Date(clock.databaseNow()!.getTime() - ago * dayMs);
  await strays(world, 900, [at(0), at(1), at(2)]);
  await world.lh.housekeep();
  expect(await inRest(world)).toBe(0);
  expect(await mostMovedAtOnce(world)).toBe(300);
});
