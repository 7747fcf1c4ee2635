import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { settableClock, setup, type World } from "../support/world.js";

const dayMs = 86_400_000;
const start = new Date("2030-01-01T12:00:00Z");

/** As many jobs as this completed at that time. */
const archive = (count: number, at: Date): [string, unknown[]] => [
  `insert into leasehold.inbox_archive (id, seq, lease_generation, available_at, created_at, finished_at, attempts, crashes, max_attempts,
     priority, partition_bucket, status, kind, partition_key, headers, errors, payload)
   select leasehold.uuid_v7(), n, n, $2, $2, $2, 1, 0, 5, 0, 0, 'completed', 'k', 'key', '{}', '[]', to_jsonb(n) from generate_series(1, $1::int) n`,
  [count, at],
];

/** Somebody who reads the whole archive, such as pg_dump. */
async function readerOf(world: World): Promise<pg.Client> {
  const reader = await world.client();
  await reader.query("begin");
  await reader.query(`lock table ${world.schema}.inbox_archive in access share mode`);
  return reader;
}

/** What PostgreSQL says to a row that is archived at each of these times while somebody reads the archive; nothing of it stays. */
async function archivedAt(world: World, times: readonly Date[]): Promise<string[]> {
  const reader = await readerOf(world);
  const settler = await world.client();
  const said: string[] = [];
  for (const at of times) {
    const [text, values] = archive(1, at);
    await settler.query("begin");
    const answer = settler.query(text.replaceAll("leasehold.", `${world.schema}.`), values);
    said.push(await answer.then(({ rowCount }) => `${rowCount} row`).catch((error: Error) => error.message));
    await settler.query("rollback");
  }
  await reader.query("rollback");
  return said;
}

async function completeOne(world: World): Promise<boolean> {
  const inbox = await world.queue();
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  return await inbox.complete(job!);
}

const partitions = (world: World, from: Date, to: Date) =>
  world.sql<{ name: string; rows: number }>(
    `select c.relname as name, count(*)::int as rows from leasehold.inbox_archive a join pg_class c on c.oid = a.tableoid
     where a.finished_at >= $1 and a.finished_at < $2 group by 1 order by 1`,
    [from, to],
  );

/** A constraint that excluded the days ahead stood over several transactions; with a reader on the archive, or without housekeeping, it was still there when those days came. */
test("after every statement of housekeeping beside many strays, rows of each day ahead can be archived", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  await world.queue();
  clock.advance(20 * dayMs);
  const now = clock.databaseNow()!;
  await world.sql(...archive(1_500, now));
  const ahead = Array.from({ length: 9 }, (_, n) => new Date(now.getTime() + n * dayMs));
  const seen: string[][] = [];
  class WatchedClient extends pg.Client {
    override query(...given: unknown[]): never {
      const [{ name = "" }] = given as [{ name?: string }];
      const answer = super.query(...(given as [never])) as unknown;
      if (!/^lh_.*archive/.test(name)) return answer as never;
      return (answer as Promise<unknown>).then(async (value) => {
        seen.push(await archivedAt(world, ahead));
        return value;
      }) as never;
    }
  }
  const pool = new pg.Pool({ connectionString: world.url, max: 4, Client: WatchedClient });
  onTestFinished(() => pool.end());
  const lh = await world.connect({ pool, url: undefined });
  await lh.housekeep();
  expect(seen.length).toBeGreaterThan(7);
  expect(seen.flat().filter((said) => said !== "1 row")).toEqual([]);
});

test("a reader that stays on the archive keeps days from being made, and no settle", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  await world.queue();
  clock.advance(20 * dayMs);
  await world.sql(...archive(1_500, clock.databaseNow()!));
  await world.lh.housekeep();
  const reader = await readerOf(world);
  for (let day = 0; day < 10; day++) {
    clock.advance(dayMs);
    await world.lh.housekeep();
    expect(await completeOne(world)).toBe(true);
  }
  await reader.query("rollback");
  await world.lh.housekeep();
  expect(await completeOne(world)).toBe(true);
});

test("a day whose rows are in the rest gets them when it is attached, whatever else is there", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  await world.queue();
  clock.advance(20 * dayMs);
  const now = clock.databaseNow()!;
  await world.sql(...archive(1_500, new Date(now.getTime() - dayMs)));
  await world.sql(...archive(40, now));
  await world.sql(...archive(30, new Date(now.getTime() + dayMs)));
  await world.lh.housekeep();
  const midnight = new Date(Math.floor(now.getTime() / dayMs) * dayMs);
  const later = (days: number) => new Date(midnight.getTime() + days * dayMs);
  expect(await partitions(world, later(0), later(1))).toEqual([{ name: "inbox_a20300121", rows: 40 }]);
  expect(await partitions(world, later(1), later(2))).toEqual([{ name: "inbox_a20300122", rows: 30 }]);
  expect(await partitions(world, later(-1), later(0))).toEqual([{ name: "inbox_archive_rest", rows: 1_500 }]);
});

test("a snapshot that may be older than the locks makes no day", async () => {
  const world = await setup();
  await world.queue();
  const client = await world.client();
  await client.query("begin isolation level repeatable read");
  await expect(client.query(`select ${world.schema}.make_archive_days('inbox', 60)`)).rejects.toMatchObject({
    code: "25001",
  });
});

test("a role that may only read the archive reads it, and can't hide rows from others", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  await world.queue();
  clock.advance(20 * dayMs);
  await world.sql(...archive(2, clock.databaseNow()!));
  const reader = `${world.schema}_reader`;
  await world.sql(`create role ${reader} nologin`);
  onTestFinished(async () => void (await world.sql(`drop owned by ${reader}; drop role ${reader}`)));
  await world.sql(
    `grant usage on schema ${world.schema} to ${reader}; grant select on leasehold.inbox_archive to ${reader}`,
  );
  const client = await world.client();
  await client.query(`set role ${reader}; set leasehold.attaching = '20300121'`);
  await client.query(`select * from ${world.schema}.inbox_archive where finished_at >= '2030-01-21'`);
  await client.query("reset leasehold.attaching");
  const count = `select count(*)::int as rows from ${world.schema}.inbox_archive where finished_at >= '2030-01-21'`;
  expect((await client.query(count)).rows).toEqual([{ rows: 2 }]);
  expect(await completeOne(world)).toBe(true);
});
