import { expect, test } from "vitest";
import { settableClock, setup, type World } from "../support/world.js";

const dayMs = 86_400_000;
const start = new Date("2030-01-01T12:00:00Z");

async function register(world: World, id: string, status = "alive", ttl = "30 seconds"): Promise<void> {
  await world.sql(
    "insert into leasehold.workers (id, hostname, pid, status, started_at, last_seen_at, ttl) values ($1, 'h', 1, $2, $3, $3, $4)",
    [id, status, start, ttl],
  );
}

async function statusOf(world: World, id: string): Promise<unknown> {
  return (await world.sql<{ status: string }>("select status from leasehold.workers where id = $1", [id]))[0]
    ?.status;
}

async function count(world: World, table: string): Promise<number> {
  return (await world.sql<{ n: number }>(`select count(*)::int as n from leasehold.${table}`))[0]!.n;
}

/** Another process is at it. */
async function takeDuty(world: World, at: Date | null): Promise<void> {
  await world.sql("insert into leasehold.duties values ('housekeeping', $1, gen_random_uuid())", [at]);
}

test("housekeeping is done by one process at a time: who does not win the election does nothing", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  await world.queue();
  await register(world, "stale");
  clock.advance(dayMs);
  const finished: unknown[] = [];
  world.lh.on("housekeeping:finished", (event) => finished.push(event));
  await takeDuty(world, clock.databaseNow());
  expect(await world.lh.housekeep()).toEqual({
    elected: false,
    workersMarked: [],
    removed: 0,
    daysMade: 0,
    daysDropped: 0,
  });
  expect(await statusOf(world, "stale")).toBe("alive");
  expect(finished).toEqual([]);
  await world.sql("update leasehold.duties set taken_by = null");
  expect(await world.lh.housekeep()).toMatchObject({ elected: true, workersMarked: ["stale"] });
  expect(finished).toEqual([{ queues: 1, workersMarked: ["stale"], removed: 0, tookMs: expect.any(Number) }]);
});

test("two schemas in one database elect their housekeepers apart", async () => {
  const one = await setup();
  const other = await setup();
  await one.queue();
  await other.queue();
  await takeDuty(one, new Date());
  expect(await one.lh.housekeep()).toMatchObject({ elected: false });
  expect(await other.lh.housekeep()).toMatchObject({ elected: true });
});

test("rounds of many processes at once all end, and at least one does the work", async () => {
  const world = await setup();
  await world.queue();
  const others = await Promise.all(Array.from({ length: 6 }, () => world.connect({ connectionsMax: 2 })));
  const reports = await Promise.all(others.map((lh) => lh.housekeep()));
  expect(reports.filter((report) => report.elected).length).toBeGreaterThanOrEqual(1);
});

test("a worker is marked dead when it was not seen for its own TTL, and removed a day after it was seen last", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  await register(world, "short");
  await register(world, "leaving", "draining");
  await register(world, "patient", "alive", "10 minutes");
  clock.advance(30_000);
  expect(await world.lh.housekeep()).toMatchObject({ workersMarked: [] });
  clock.advance(1);
  expect(await world.lh.housekeep()).toMatchObject({ workersMarked: ["leaving", "short"] });
  expect(await statusOf(world, "patient")).toBe("alive");
  expect(await world.lh.housekeep()).toMatchObject({ workersMarked: [], removed: 0 });
  clock.advance(dayMs - 30_001);
  expect(await world.lh.housekeep()).toMatchObject({ workersMarked: ["patient"], removed: 0 });
  clock.advance(1);
  expect(await world.lh.housekeep()).toMatchObject({ removed: 3 });
  expect(await count(world, "workers")).toBe(0);
});

test("a DELETE on worker_lease marks the worker dead, and its rows are taken over at once", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  const inbox = await world.queue();
  await register(world, "w1");
  await register(world, "w2");
  expect(
    await world.sql("select worker_id, generation, expires_at from leasehold.worker_lease order by 1"),
  ).toEqual(
    ["w1", "w2"].map((worker) => ({
      worker_id: worker,
      generation: "1",
      expires_at: new Date(start.getTime() + 30_000),
    })),
  );
  const { id } = await inbox.enqueue("step", 1);
  const [job] = await inbox.claim({ workerId: "w1" });
  expect(await inbox.claim({ workerId: "w2" })).toEqual([]);
  await world.sql("delete from leasehold.worker_lease where worker_id = 'w1'");
  expect([await statusOf(world, "w1"), await statusOf(world, "w2")]).toEqual(["dead", "alive"]);
  expect(await world.sql("select worker_id from leasehold.worker_lease")).toEqual([{ worker_id: "w2" }]);
  expect(await inbox.claim({ workerId: "w2" })).toMatchObject([{ id, attempt: 2, crashes: 1 }]);
  expect(await inbox.complete(job!)).toBe(false);
});

test("an idempotency key expires after its window, but not while its job is in the queue", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", dedupeWindowMs: 3_600_000 });
  const { id } = await inbox.enqueue("step", 1, { idempotencyKey: "done" });
  const [job] = await inbox.claim({ workerId: "w1" });
  await inbox.complete(job!);
  const waiting = await inbox.enqueue("step", 2, { idempotencyKey: "waiting" });
  clock.advance(3_600_000);
  expect(await world.lh.housekeep()).toMatchObject({ removed: 0 });
  expect(await count(world, "dedupe")).toBe(2);
  clock.advance(1);
  expect(await world.lh.housekeep()).toMatchObject({ removed: 1 });
  expect(await inbox.enqueue("step", 2, { idempotencyKey: "waiting" })).toEqual({
    id: waiting.id,
    duplicate: true,
  });
  const fresh = await inbox.enqueue("step", 1, { idempotencyKey: "done" });
  expect(fresh.duplicate).toBe(false);
  expect(fresh.id).not.toBe(id);
});

test("receipts of a queue that keeps no archive expire after a day", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", retentionMs: 0 });
  await inbox.enqueue("step", 1);
  await inbox.enqueueMany([2, 3].map((n) => ({ kind: "step", payload: n })));
  expect(await count(world, "receipts")).toBe(2);
  clock.advance(dayMs);
  expect(await world.lh.housekeep()).toMatchObject({ removed: 0 });
  clock.advance(1);
  expect(await world.lh.housekeep()).toMatchObject({ removed: 2 });
  expect(await count(world, "receipts")).toBe(0);
});

test("what a handler has handled is remembered for thirty days", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const handle = () => world.lh.transaction((tx) => world.lh.once(tx, "mailer", "message-1"));
  expect([await handle(), await handle()]).toEqual([true, false]);
  clock.advance(30 * dayMs);
  expect(await world.lh.housekeep()).toMatchObject({ removed: 0 });
  clock.advance(1);
  expect(await world.lh.housekeep()).toMatchObject({ removed: 1 });
  expect(await handle()).toBe(true);
});

test("a fence is kept until it was not seen for thirty days, and one day more for its time, which may be a day behind", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const raise = (resource: string, token: bigint) =>
    world.lh.transaction((tx) => world.lh.fence(tx, resource, token));
  await raise("order:1", 5n);
  await raise("order:2", 5n);
  clock.advance(31 * dayMs);
  expect(await world.lh.housekeep()).toMatchObject({ removed: 0 });
  await expect(raise("order:1", 4n)).rejects.toMatchObject({ code: "LH_STALE_FENCE" });
  clock.advance(1);
  // A transaction that is raising one keeps it.
  const busy = await world.client();
  await busy.query("begin");
  await busy.query(`select 1 from ${world.schema}.fences where resource = 'order:2' for update`);
  expect(await world.lh.housekeep()).toMatchObject({ removed: 1 });
  await busy.query("commit");
  expect(await world.sql("select resource from leasehold.fences")).toEqual([{ resource: "order:2" }]);
});

test("a fenced write renews the time of its fence once a day, and moves no index entry in between", async () => {
  const world = await setup();
  const raise = (token: bigint) => world.lh.transaction((tx) => world.lh.fence(tx, "order:1", token));
  const seen = async () =>
    (await world.sql<{ at: Date }>("select seen_at as at from leasehold.fences"))[0]!.at.getTime();
  await raise(1n);
  await world.sql("update leasehold.fences set seen_at = now() - interval '23 hours'");
  const before = await seen();
  await raise(2n);
  expect(await seen()).toBe(before);
  await world.sql("update leasehold.fences set seen_at = now() - interval '25 hours'");
  await raise(3n);
  expect(await seen()).toBeGreaterThan(before);
});

test.each(["key", "none"] as const)(
  "the sweep gives back an expired job that nobody claims (order %s)",
  async (order) => {
    const clock = settableClock(start);
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order, maxCrashes: 2 });
    const { id } = await inbox.enqueue("step", 1);
    await inbox.claim({ workerId: "w1", leaseMs: 10_000 });
    clock.advance(9_999);
    await world.lh.housekeep();
    expect(await inbox.get(id)).toMatchObject({ status: "processing" });
    clock.advance(1);
    await world.lh.housekeep();
    const given = await inbox.get(id);
    expect(given).toMatchObject({ attempts: 1, crashes: 1, claimedBy: null, leaseExpiresAt: null });
    expect(given).toMatchObject({ status: order === "key" ? "pending" : "scheduled" });
    expect(given?.lastError).toBe("the lease ran out before the attempt was settled");
    clock.advance(3_000);
    expect(await inbox.claim({ workerId: "w2", leaseMs: 10_000 })).toMatchObject([{ id, attempt: 2 }]);
    clock.advance(10_000);
    await world.lh.housekeep();
    expect(await inbox.get(id)).toMatchObject({ status: "dead_letter", attempts: 2, crashes: 2 });
  },
);

test.each(["key", "none"] as const)(
  "the sweep finds every expired job among due ones of other keys (order %s)",
  async (order) => {
    const clock = settableClock(start);
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order, buckets: 3 });
    await inbox.enqueueMany(
      Array.from({ length: 60 }, (_, i) => ({ kind: "lost", payload: i, partitionKey: `m${i}` })),
    );
    expect(await inbox.claim({ workerId: "w1", leaseMs: 10_000, limit: 60 })).toHaveLength(60);
    const due = ["a", "z"].flatMap((letter) => Array.from({ length: 20 }, (_, i) => `${letter}${i}`));
    await inbox.enqueueMany(due.map((partitionKey) => ({ kind: "due", payload: 1, partitionKey })));
    clock.advance(10_000);
    await world.lh.housekeep();
    expect(await inbox.stats()).toMatchObject({ processing: 0, due: 40, retrying: 60 });
  },
);

test("every round takes a sample of each queue, and keeps a week of them", async () => {
  const clock = settableClock(start);
  const world = await setup({ clock });
  const inbox = await world.queue();
  await world.queue("mail", { order: "none" });
  await inbox.enqueue("step", 1);
  await world.lh.housekeep();
  const samples = () =>
    world.sql("select queue, taken_at, counts -> 'pending' as pending from leasehold.samples order by 1, 2");
  expect(await samples()).toEqual([
    { queue: "inbox", taken_at: start, pending: 1 },
    { queue: "mail", taken_at: start, pending: 0 },
  ]);
  clock.advance(7 * dayMs);
  await world.lh.housekeep();
  expect(await samples()).toHaveLength(4);
  clock.advance(1);
  await world.lh.housekeep();
  expect(await samples()).toHaveLength(4);
});

test("of a large table a sample reads some pages and says so", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "none" });
  await inbox.enqueue("step", 1);
  await world.lh.housekeep();
  await world.sql(
    "insert into leasehold.inbox (kind, payload, partition_key) select 'step', to_jsonb(repeat('x', 1700)), 'k' from generate_series(1, 30000)",
  );
  await world.lh.housekeep();
  const [exact, estimate] = (await world.sql(
    "select (counts->>'share')::float8 as share, (counts->>'pending')::int as pending from leasehold.samples order by taken_at",
  )) as { share: number; pending: number }[];
  expect(exact).toEqual({ share: 1, pending: 1 });
  expect(estimate?.share).toBeLessThan(0.8);
  expect(estimate?.pending).toBeGreaterThan(27_000);
  expect(estimate?.pending).toBeLessThan(33_000);
});
