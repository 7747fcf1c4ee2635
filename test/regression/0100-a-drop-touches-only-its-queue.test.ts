import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/adapters/system-clock.js";
import { defaults } from "../../src/settings.js";
import { cuttingProxy } from "../support/cutting-proxy.js";
import { setup, type World } from "../support/world.js";

/** dropQueue of a queue that did not exist dropped a user's table of the name `<name>_archive`, and resolved. */

async function tables(world: World): Promise<string[]> {
  const rows = await world.sql<{ name: string }>(
    "select relname::text as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p') and relname like 'mail%' order by 1",
    [world.schema],
  );
  return rows.map((row) => row.name);
}

test("a drop of a queue that does not exist is refused and drops nothing", async () => {
  const world = await setup();
  await world.sql("create table leasehold.mail_archive (id int)");
  await expect(world.lh.dropQueue("mail")).rejects.toMatchObject({ code: "LH_UNKNOWN_QUEUE" });
  expect(await tables(world)).toEqual(["mail_archive"]);
});

test("tables that a user has put beside a queue survive its drop", async () => {
  const world = await setup();
  await world.lh.queue("mail", { order: "none" });
  const foreign = ["mail_a20990101", "mail_hot_keys", "mail_turns"];
  for (const name of foreign) await world.sql(`create table leasehold.${name} (id int)`);
  await world.lh.dropQueue("mail");
  expect(await tables(world)).toEqual(foreign);
});

test("a drop that is interrupted between its transactions is ended by a second call", async () => {
  const world = await setup();
  await world.lh.queue("mail", { order: "key", retentionMs: 3_650 * 86_400_000 });
  for (let nth = 0; nth < 4; nth++)
    await world.sql("select leasehold.make_archive_days('mail', 60, now() - $1 * interval '61 days')", [nth]);
  const proxy = await cuttingProxy(world.url);
  onTestFinished(() => proxy.close());
  // Its tries follow each other at once.
  const clock = { ...systemClock, sleep: async () => {} };
  const other = await world.connect({ url: proxy.url, clock });
  proxy.arm("after", "commit\0");
  const dropped = other.dropQueue("mail");
  await expect.poll(() => proxy.cuts.after, { timeout: 20_000 }).toBe(1);
  await proxy.close();
  await expect(dropped).rejects.toMatchObject({ code: "LH_MIGRATION_FAILED" });

  // The queue is gone for everybody, and its name is not free yet.
  expect(await tables(world)).toContain("mail_archive");
  expect(await world.lh.migrate()).toBe(0);
  await world.lh.housekeep();
  await expect(world.lh.queue("mail")).rejects.toMatchObject({ code: "LH_UNKNOWN_QUEUE" });
  await expect(world.lh.queue("mail", { order: "key" })).rejects.toMatchObject({ code: "LH_INVALID_NAME" });
  await expect(world.sql(`select leasehold.enqueue('{"queue": "mail", "kind": "k"}')`)).rejects.toThrow(
    /queue mail does not exist/,
  );
  await world.lh.dropQueue("mail");
  expect(await tables(world)).toEqual([]);
  await world.lh.queue("mail", { order: "key" });
});

test("the idempotency keys of a queue are deleted in bounded batches", async () => {
  const world = await setup();
  await world.queue("mail");
  await world.queue("other");
  const rows = defaults.expireRowsMax * 2 + 1;
  await world.sql(
    `insert into leasehold.dedupe select q, 'k' || n, gen_random_uuid(), now() from generate_series(1, $1) n, unnest(array['mail', 'other']) q`,
    [rows],
  );
  await world.sql(`create table leasehold.batches (rows bigint);
    create function leasehold.note_batch() returns trigger language plpgsql as $$ begin
      insert into leasehold.batches select count(*) from gone; return null; end $$;
    create trigger note_batch after delete on leasehold.dedupe referencing old table as gone for each statement execute function leasehold.note_batch()`);
  await world.lh.dropQueue("mail");
  const [batches] = await world.sql<{ most: string; all: string }>(
    "select max(rows) as most, sum(rows) as all from leasehold.batches",
  );
  expect(Number(batches?.all)).toBe(rows);
  expect(Number(batches?.most)).toBeLessThanOrEqual(defaults.expireRowsMax);
  expect(await world.sql("select count(*)::int as rows, min(queue) as queue from leasehold.dedupe")).toEqual([
    { rows, queue: "other" },
  ]);
});
