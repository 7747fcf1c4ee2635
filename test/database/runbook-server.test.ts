import { expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../../src/embedded.js";
import { prepareRows } from "../support/prepared-rows.js";
import { setup, type World } from "../support/world.js";

/** Incidents of the fleet, the tables and the server. */
async function ask(world: World, name: string, options: Readonly<Record<string, string>> = {}) {
  const { rows } = await world.lh.runbook(name, options);
  return rows;
}

const fields = (rows: readonly Readonly<Record<string, unknown>>[], ...names: readonly string[]) =>
  rows.map((row) => names.map((name) => row[name]));

test("restart-loops: a host whose processes die young is told from one that was deployed twice", async () => {
  const world = await setup();
  await world.sql(
    `insert into leasehold.workers (id, hostname, status, started_at, last_seen_at, left_at, starts, lost_at)
     select v.id, v.host, v.status, now() - v.started * interval '1 s', now() - v.seen * interval '1 s', now() - v.left * interval '1 s', v.starts, null
     from (values ('loop-1', 'loop', 'dead', 300, 296, null, 1), ('loop-2', 'loop', 'dead', 200, 197, null, 1), ('loop-3', 'loop', 'dead', 100, 95, null, 1), ('loop-4', 'loop', 'alive', 5, 1, null, 1),
       ('same', 'pod', 'alive', 5, 1, null, 9), ('deployed-1', 'calm', 'dead', 7200, 3600, 3600, 1), ('deployed-2', 'calm', 'alive', 3600, 1, null, 1)) v(id, host, status, started, seen, "left", starts)`,
  );
  const rows = await ask(world, "restart-loops");
  expect(
    fields(rows, "hostname", "ended", "lost", "alive", "worker_ids", "shortest_life_s", "latest_worker"),
  ).toEqual([
    ["loop", 3, 3, 1, 4, 3, "loop-4"],
    ["pod", 8, 0, 1, 1, null, "same"],
  ]);
  expect(rows[0]?.last_lost_at).toBeInstanceOf(Date);
});

test.each([
  ["inbox", "key"],
  ["jobs", "none"],
] as const)(
  "one key with most of the rows of %s (order %s) is named, with its bucket",
  async (queue, order) => {
    const world = await setup();
    await world.queue(queue, { order });
    const hot = Array.from({ length: 180 }, () => ({ key: "tenant:1", createdS: -60 }));
    const others = Array.from({ length: 20 }, (_, n) => ({ key: `tenant:2${n}` }));
    const held = {
      key: "tenant:1",
      status: "processing",
      claimedBy: "w1",
      claimedS: -1,
      leaseEndS: 60,
    } as const;
    await prepareRows(world, [{ ...held, createdS: -90, dueS: -90 }, ...hot, ...others], queue);
    const [{ bucket } = { bucket: -1 }] = await world.sql<{ bucket: number }>(
      "select leasehold.bucket_of('tenant:1', 360) as bucket",
    );
    const keys = await ask(world, "hot-keys", { queue });
    expect(keys).toHaveLength(20);
    expect(keys[0]).toMatchObject({
      partition_key: "tenant:1",
      rows_in_line: "181",
      counted: order === "key" ? 181 : null,
      percent: 90,
      bucket,
      head_status: order === "key" ? "processing" : null,
      held_by: order === "key" ? "w1" : null,
      share: 1,
    });
    const [first] = await ask(world, "skewed-buckets", { queue });
    expect(first).toMatchObject({
      bucket,
      rows_in_line: "181",
      percent: 90,
      largest_key: "tenant:1",
      held_by: "w1",
    });
    expect(first).toMatchObject({ largest_key_percent: 100, keys_seen: 1, times_average: 324.2, share: 1 });
  },
);

test("bloat: dead rows, sizes, and a table without autovacuum", async () => {
  const world = await setup();
  await world.queue();
  await world.sql("alter table leasehold.inbox set (autovacuum_enabled = false)");
  const client = await world.client();
  await prepareRows(
    world,
    Array.from({ length: 300 }, () => ({ key: "k" })),
  );
  await client.query(`update ${world.schema}.inbox set status = 'processing' where seq <= 200`);
  await client.query(`delete from ${world.schema}.inbox where seq > 200`);
  await client.query("select pg_stat_force_next_flush()");
  const [first, ...others] = await ask(world, "bloat");
  expect(first).toMatchObject({ table_name: "inbox", autovacuum_on: false });
  expect(Number(first?.dead_rows)).toBeGreaterThanOrEqual(100);
  expect(Number(first?.table_bytes)).toBeGreaterThan(8_192);
  expect(first?.last_vacuum_at).toBeNull();
  expect(others.map((row) => row.table_name)).toContain("workers");
  const { rows } = await client.query<{ on: boolean }>("select current_setting('autovacuum')::boolean as on");
  expect(new Set(others.map((row) => row.autovacuum_on))).toEqual(new Set([rows[0]?.on]));
  await client.query(`vacuum ${world.schema}.inbox`);
  await client.query("select pg_stat_force_next_flush()");
  const [vacuumed] = await ask(world, "bloat");
  expect(vacuumed?.last_vacuum_at).toBeInstanceOf(Date);
});

test("held-snapshots: a session, a prepared transaction and a slot that hold rows or the catalog", async () => {
  const server = await startPostgres({ settings: { wal_level: "logical", max_prepared_transactions: "2" } });
  onTestFinished(() => server.stop());
  const world = await setup({}, server.url);
  await world.sql("select pg_create_logical_replication_slot('left_behind', 'pgoutput')");
  const idle = await world.client();
  const { rows } = await idle.query<{ pid: number }>("select pg_backend_pid() as pid");
  await idle.query("begin isolation level repeatable read");
  await idle.query("select 'what it asked last'");
  const other = await world.client();
  await other.query("begin");
  await other.query("create table prepared_here (id int)");
  await other.query("prepare transaction 'forgotten'");
  const held = await ask(world, "held-snapshots");
  const session = held.find((row) => row.name === String(rows[0]?.pid));
  expect(session).toMatchObject({ holder: "session", state: "idle in transaction", holds: "rows" });
  expect(session?.query).toContain("what it asked last");
  expect(session?.since).toBeInstanceOf(Date);
  expect(held.find((row) => row.holder === "prepared transaction")).toMatchObject({ name: "forgotten" });
  expect(held.find((row) => row.holder === "replication slot")).toMatchObject({
    name: "left_behind",
    state: "inactive",
    holds: "catalog",
  });
  await other.query("rollback prepared 'forgotten'");
  await idle.query("commit");
  const left = await ask(world, "held-snapshots");
  expect(left.some((row) => row.name === "forgotten" || row.name === session?.name)).toBe(false);
});

test("archive-days: days with rows, the rest, and when a day may be dropped", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", retentionMs: 2 * 86_400_000 });
  await inbox.enqueue("step", 1);
  const [job] = await inbox.claim({ workerId: "w1" });
  await inbox.complete(job!);
  const today = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000);
  await world.sql(
    `insert into leasehold.inbox_archive select id, seq, lease_generation, available_at, created_at, claimed_at, finished_at - interval '40 days', attempts, crashes, max_attempts, priority,
       partition_bucket, status, kind, partition_key, claimed_by, idempotency_key, last_error, headers, errors, payload from leasehold.inbox_archive`,
  );
  await world.sql("analyze leasehold.inbox_archive");
  const rows = await ask(world, "archive-days");
  expect(fields(rows, "day", "rows_estimated", "percent")).toEqual([
    [today.toISOString().slice(0, 10), "1", expect.any(Number)],
    ["rest", "1", expect.any(Number)],
  ]);
  expect(rows[0]?.drops_at).toEqual(new Date(today.getTime() + 3 * 86_400_000));
  expect(rows[1]?.drops_at).toBeNull();
});
