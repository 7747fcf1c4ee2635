import { expect, test } from "vitest";
import type { EventMap, Leasehold, Queue } from "../../src/index.js";
import { settableClock, setup, type World } from "../support/world.js";

const dayMs = 86_400_000;

interface Day {
  readonly name: string;
  readonly starts: string;
  readonly ends: string;
}

/** The archive's days with their bounds, as a session in UTC reads them. */
async function days(world: World): Promise<readonly Day[]> {
  const client = await world.client();
  await client.query("set timezone = 'UTC'");
  const { rows } = await client.query<{ name: string; bound: string }>(
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::regclass and pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT' order by 1`,
    [`${world.schema}.inbox_archive`],
  );
  return rows.map(({ name, bound }) => {
    const [, starts = "", ends = ""] = /FROM \('(.+)'\) TO \('(.+)'\)/.exec(bound) ?? [];
    return { name, starts, ends };
  });
}

/** The day that begins at midnight UTC of a date such as 2030-03-10. */
function utcDay(date: string, plus = 0): Day {
  const text = (n: number) =>
    new Date(Date.parse(`${date}T00:00:00Z`) + n * dayMs).toISOString().slice(0, 10);
  return {
    name: `inbox_a${text(plus).replaceAll("-", "")}`,
    starts: `${text(plus)} 00:00:00+00`,
    ends: `${text(plus + 1)} 00:00:00+00`,
  };
}

const week = (date: string): Day[] => Array.from({ length: 8 }, (_, plus) => utcDay(date, plus));

/** The days of a new queue are made by the database's own clock; this sets the test's to the same instant. */
async function setToCreation(world: World, clock: ReturnType<typeof settableClock>): Promise<void> {
  const [queue] = await world.sql<{ created_at: Date }>("select created_at from leasehold.queues");
  clock.advance(queue!.created_at.getTime() - clock.databaseNow()!.getTime());
}

async function finishOne(inbox: Queue, payload: unknown = 1): Promise<string> {
  const { id } = await inbox.enqueue("step", payload);
  const [job] = await inbox.claim({ workerId: "w1" });
  expect(await inbox.complete(job!)).toBe(true);
  return id;
}

async function partitionOf(world: World, id: string): Promise<string | undefined> {
  const [row] = await world.sql<{ part: string }>(
    "select split_part(tableoid::regclass::text, '.', 2) as part from leasehold.inbox_archive where id = $1",
    [id],
  );
  return row?.part;
}

function strayed(lh: Leasehold): EventMap["archive:strayed"][] {
  const seen: EventMap["archive:strayed"][] = [];
  lh.on("archive:strayed", (event) => seen.push(event));
  return seen;
}

test("a new queue has archive days for today and a week ahead, and finished jobs lie in today's", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const [queue] = await world.sql<{ created_at: Date }>("select created_at from leasehold.queues");
  expect(await days(world)).toEqual(week(queue!.created_at.toISOString().slice(0, 10)));
  const id = await finishOne(inbox);
  const { finishedAt } = (await inbox.get(id))!;
  expect(await partitionOf(world, id)).toBe(utcDay(finishedAt!.toISOString().slice(0, 10)).name);
});

test("housekeeping makes the days that are missing ahead, and none twice", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  await world.queue();
  await setToCreation(world, clock);
  expect(await world.lh.housekeep()).toMatchObject({ elected: true, daysMade: 0 });
  const before = await days(world);
  clock.advance(3 * dayMs);
  expect(await world.lh.housekeep()).toMatchObject({ daysMade: 3, daysDropped: 0 });
  expect(await world.lh.housekeep()).toMatchObject({ daysMade: 0 });
  const after = await days(world);
  expect(after.slice(0, 8)).toEqual(before);
  expect(after).toHaveLength(11);
});

test("a job whose day is missing goes to the rest, and the next round says so and sorts it into its day", async () => {
  const clock = settableClock(new Date("2030-01-01T12:00:00Z"));
  const world = await setup({ clock });
  const inbox = await world.queue();
  const seen = strayed(world.lh);
  const ids = [await finishOne(inbox, 1), await finishOne(inbox, 2)];
  for (const id of ids) expect(await partitionOf(world, id)).toBe("inbox_archive_rest");
  expect(await inbox.get(ids[0]!)).toMatchObject({ status: "completed" });

  expect(await world.lh.housekeep()).toMatchObject({ daysMade: 8 });
  expect(seen).toEqual([{ queue: "inbox", rows: 2 }]);
  for (const id of ids) expect(await partitionOf(world, id)).toBe("inbox_a20300101");
  expect(await inbox.list({ status: "completed" })).toHaveLength(2);

  await world.lh.housekeep();
  expect(seen).toHaveLength(1);
  expect(await partitionOf(world, await finishOne(inbox))).toBe("inbox_a20300101");
});

test("retention drops a day when all of it is older, and not a millisecond earlier", async () => {
  const clock = settableClock(new Date("2030-01-01T00:00:00Z"));
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", retentionMs: 2 * dayMs });
  await world.lh.housekeep();
  const first = await finishOne(inbox);
  clock.advance(dayMs - 1);
  const last = await finishOne(inbox);
  clock.advance(1);
  const next = await finishOne(inbox);
  clock.advance(2 * dayMs - 1);
  expect(await world.lh.housekeep()).toMatchObject({ daysDropped: 0 });
  expect(await inbox.get(first)).not.toBeNull();
  clock.advance(1);
  expect(await world.lh.housekeep()).toMatchObject({ daysDropped: 1 });
  expect(await inbox.get(first)).toBeNull();
  expect(await inbox.get(last)).toBeNull();
  expect(await inbox.get(next)).toMatchObject({ status: "completed" });
  expect((await days(world))[0]).toEqual(utcDay("2030-01-02"));
});

test("a row that strayed is kept for the retention and goes within a day after it", async () => {
  const clock = settableClock(new Date("2030-01-01T12:00:00Z"));
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", retentionMs: 2 * dayMs });
  const id = await finishOne(inbox);
  clock.advance(2 * dayMs);
  await world.lh.housekeep();
  expect(await inbox.get(id)).not.toBeNull();
  clock.advance(dayMs);
  await world.lh.housekeep();
  expect(await inbox.get(id)).toBeNull();
});

test("retention 0 keeps nothing: a finished job is only deleted", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", retentionMs: 0 });
  const id = await finishOne(inbox);
  const { id: dropped } = await inbox.enqueue("step", 2);
  expect(await inbox.discard({ ids: [dropped] })).toBe(1);
  expect(await inbox.get(id)).toBeNull();
  expect(await world.sql("select 1 from leasehold.inbox_archive")).toEqual([]);
  expect(await inbox.stats()).toMatchObject({ pending: 0, processing: 0 });
  expect(await world.lh.housekeep()).toMatchObject({ elected: true });
});

test("a reader who holds the archive makes neither housekeeping fail nor a settle wait for long", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", retentionMs: dayMs });
  await setToCreation(world, clock);
  const id = await finishOne(inbox);
  clock.advance(3 * dayMs);
  await inbox.enqueueMany(Array.from({ length: 2_000 }, (_, i) => ({ kind: "step", payload: i })));
  const jobs = await inbox.claim({ workerId: "w1", limit: 2_000 });
  const reader = await world.client();
  await reader.query("begin");
  await reader.query(`select count(*) from ${world.schema}.inbox_archive`);

  let isOver = false;
  const round = world.lh.housekeep().finally(() => {
    isOver = true;
  });
  // The reader keeps its lock: a settle that waited behind a lock which housekeeping asks for and does not give up would never end.
  let settled = 0;
  for (const job of jobs) {
    if (isOver) break;
    expect(await inbox.complete(job)).toBe(true);
    settled++;
  }
  expect(await round).toMatchObject({ elected: true, daysMade: 0, daysDropped: 0 });
  expect(settled).toBeGreaterThan(0);
  expect(await inbox.get(id)).not.toBeNull();

  await reader.query("commit");
  expect(await world.lh.housekeep()).toMatchObject({ daysMade: 3, daysDropped: 2 });
  expect(await inbox.get(id)).toBeNull();
});

const zones = [
  "Pacific/Kiritimati",
  "America/Los_Angeles",
  "Asia/Kolkata",
  "Europe/Berlin",
  "Atlantic/Azores",
];
const clockChanges = ["2030-03-09", "2030-03-30", "2030-10-26", "2030-11-02"];

test.each(zones)("days are UTC days in a session in %s, also where its clocks change", async (zone) => {
  const clock = settableClock(new Date("2030-03-09T00:00:00Z"));
  const world = await setup({ clock });
  const url = new URL(world.url);
  url.searchParams.set("options", `-c timezone=${zone}`);
  const lh = await world.connect({ url: url.href });
  const inbox = await lh.queue("inbox", { order: "key", retentionMs: 3 * dayMs });
  expect(await lh.transaction(async (tx) => (await tx.query("show timezone")).rows)).toEqual([
    { TimeZone: zone },
  ]);
  for (const date of clockChanges) {
    clock.advance(Date.parse(`${date}T00:00:00Z`) - clock.databaseNow()!.getTime());
    await lh.housekeep();
    expect((await days(world)).slice(-8)).toEqual(week(date));
    for (let n = 0; n < 3; n++) {
      expect(await partitionOf(world, await finishOne(inbox))).toBe(utcDay(date, n).name);
      clock.advance(dayMs - 1);
      expect(await partitionOf(world, await finishOne(inbox))).toBe(utcDay(date, n).name);
      clock.advance(1);
    }
  }
});
