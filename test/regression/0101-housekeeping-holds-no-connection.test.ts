import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { surroundingsOf } from "../../src/leasehold.js";
import { defaults } from "../../src/settings.js";
import { housekeepIfDue } from "../../src/work/housekeeping.js";
import { cuttingProxy } from "../support/cutting-proxy.js";
import { settableClock, setup, type World } from "../support/world.js";

/**
 * A round of housekeeping held a connection, in a transaction with the lock of its election, while its duties ran on others. Beside one transaction of a user it used up a pool of two:
 * nobody else got a connection, the round neither, for 104 s.
 */

const minuteMs = 60_000;

/** A worker's round, which is left out when the fleet had one within the time. */
async function ifDue(world: World, withinMs: number): Promise<boolean> {
  const seams = { ...surroundingsOf(world.lh), schema: world.schema };
  return (await housekeepIfDue(seams, withinMs)).elected;
}

test("a round beside a transaction of the user needs one connection of a pool of two", async () => {
  const world = await setup();
  await world.queue();
  const pool = new pg.Pool({ connectionString: world.url, max: 2 });
  onTestFinished(() => pool.end());
  const lh = await world.connect({ pool, url: undefined });
  const reports = await lh.transaction(async (tx) => {
    await tx.query("select 1");
    return await Promise.all([lh.housekeep(), lh.workers()]);
  });
  expect(reports).toMatchObject([{ elected: true }, []]);
});

test("a round that was cut off in the middle is taken over when it is overdue, and not before", async () => {
  const clock = settableClock(new Date("2030-01-01T12:00:00Z"));
  const world = await setup({ clock });
  await world.queue();
  const now = () => clock.databaseNow();
  await world.sql("insert into leasehold.duties values ('housekeeping', $1, gen_random_uuid())", [now()]);
  clock.advance(defaults.dutyOverdueMs - 1);
  expect(await world.lh.housekeep()).toMatchObject({ elected: false });
  clock.advance(1);
  expect(await world.lh.housekeep()).toMatchObject({ elected: true });
  // It was given back: by hand there is no interval to wait for.
  expect(await world.lh.housekeep()).toMatchObject({ elected: true });
});

test("a round that fails gives its duty back", async () => {
  const world = await setup();
  await world.queue();
  await world.sql("alter table leasehold.inbox rename to hidden");
  await expect(world.lh.housekeep()).rejects.toMatchObject({ code: "LH_DATABASE_REFUSED" });
  await world.sql("alter table leasehold.hidden rename to inbox");
  expect(await world.lh.housekeep()).toMatchObject({ elected: true });
});

test.each(["before", "after"] as const)(
  "an election whose connection is cut %s its commit is repeated and won",
  async (when) => {
    const world = await setup();
    await world.queue();
    const proxy = await cuttingProxy(world.url);
    onTestFinished(() => proxy.close());
    const lh = await world.connect({ url: proxy.url });
    proxy.arm(when, "take_duty");
    expect(await lh.housekeep()).toMatchObject({ elected: true });
    expect(proxy.cuts[when]).toBe(1);
    await lh.close();
  },
);

test("workers do one round in an interval, also when the clock was set back by hours", async () => {
  const clock = settableClock(new Date("2030-01-01T12:00:00Z"));
  const world = await setup({ clock });
  await world.queue();
  expect(await ifDue(world, minuteMs)).toBe(true);
  expect(await ifDue(world, minuteMs)).toBe(false);
  clock.advance(minuteMs - 1);
  expect(await ifDue(world, minuteMs)).toBe(false);
  clock.advance(1);
  expect(await ifDue(world, minuteMs)).toBe(true);
  clock.advance(-3 * 60 * minuteMs);
  expect(await ifDue(world, minuteMs)).toBe(true);
  expect(await ifDue(world, minuteMs)).toBe(false);
});

test("a round of many queues goes on holding its duty, and ends when another has taken it over", async () => {
  const clock = settableClock(new Date("2030-01-01T12:00:00Z"));
  let ms = 0;
  const world = await setup({ clock: { ...clock, monotonicMs: () => ms } });
  const names = ["a", "b", "c"];
  for (const name of names) await world.queue(name);
  // Each queue takes longer than a hold is left alone; a trigger sees who holds the duty when its sample is written.
  await world.sql(
    `create table leasehold.seen (queue text, done_at timestamptz, taken_by uuid);
    create function leasehold.see() returns trigger language plpgsql as $$ begin
      insert into leasehold.seen select new.queue, d.done_at, d.taken_by from leasehold.duties d;
      if new.queue = 'b' then update leasehold.duties set taken_by = gen_random_uuid(); end if;
      return new; end $$;
    create trigger see before insert on leasehold.samples for each row execute function leasehold.see()`,
  );
  const seams = surroundingsOf(world.lh);
  const slow = {
    ...seams,
    schema: world.schema,
    clock: { ...seams.clock, monotonicMs: () => (ms += defaults.dutyHoldMs + 1) },
  };
  expect(await housekeepIfDue(slow, 0)).toMatchObject({ elected: true });
  const seen = await world.sql<{ queue: string; taken_by: string }>(
    "select queue, taken_by from leasehold.seen order by queue",
  );
  expect(seen.map((row) => row.queue)).toEqual(["a", "b"]);
  expect(new Set(seen.map((row) => row.taken_by)).size).toBe(1);
  expect(await world.lh.housekeep()).toMatchObject({ elected: false });
});

test("rounds beside each other do no harm", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(
    Array.from({ length: 50 }, (_, n) => ({ kind: "k", payload: n, partitionKey: `k${n % 5}` })),
  );
  await world.sql(
    `create function leasehold.forget() returns trigger language plpgsql as $$ begin new.taken_by := null; return new; end $$;
     create trigger forget before insert or update on leasehold.duties for each row execute function leasehold.forget()`,
  );
  const others = await Promise.all(Array.from({ length: 4 }, () => world.connect({ connectionsMax: 2 })));
  const reports = await Promise.all(others.map((lh) => lh.housekeep()));
  expect(reports.filter((report) => report.elected)).toHaveLength(4);
  expect((await world.lh.audit()).breaches).toEqual([]);
  expect(await inbox.stats()).toMatchObject({ pending: 50 });
});
