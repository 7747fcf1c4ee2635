import { expect, test } from "vitest";
import { type PreparedRow, prepareRows } from "../support/prepared-rows.js";
import { setup, type World } from "../support/world.js";

/** Incidents around work that does not run: each is made by hand, and the query must show that and nothing else. */
async function ask(world: World, name: string, options: Readonly<Record<string, string>> = {}) {
  const { columns, rows } = await world.lh.runbook(name, options);
  for (const row of rows) expect(Object.keys(row)).toEqual(columns);
  return rows;
}

const fields = (rows: readonly Readonly<Record<string, unknown>>[], ...names: readonly string[]) =>
  rows.map((row) => names.map((name) => row[name]));

async function register(world: World, id: string, more = "status = 'alive'"): Promise<void> {
  await world.sql("insert into leasehold.workers (id, hostname, queues) values ($1, 'h1', '{inbox,jobs}')", [
    id,
  ]);
  await world.sql(`update leasehold.workers set ${more} where id = $1`, [id]);
}

test("oldest-due: the longest due row of every key comes first, also when another one stands before it", async () => {
  const world = await setup();
  await world.queue();
  const [, blocked, , held, plain, , overdue] = await prepareRows(world, [
    { key: "backoff", dueS: 3_600, attempts: 1 },
    { key: "backoff", dueS: -500 },
    { key: "busy", status: "processing", dueS: -900, claimedBy: "w1", claimedS: -5, leaseEndS: 60 },
    { key: "busy", dueS: -300 },
    { key: "plain", dueS: -100 },
    { key: "plain", dueS: -90 },
    { key: "overdue", status: "scheduled", dueS: -50 },
    { key: "later", status: "scheduled", dueS: 50 },
    { key: "dead", status: "dead_letter", dueS: -9_000, finishedS: -8_000 },
  ]);
  const rows = await ask(world, "oldest-due");
  expect(fields(rows, "id", "head_status", "status", "is_all")).toEqual([
    [blocked, "pending", "pending", true],
    [held, "processing", "pending", true],
    [plain, null, "pending", true],
    [overdue, null, "scheduled", true],
  ]);
  expect(rows[0]?.due_s).toBeGreaterThanOrEqual(500);
  expect(rows[0]?.available_at).toBeInstanceOf(Date);
});

test("oldest-due: with order none an old row of a low priority is found behind urgent ones", async () => {
  const world = await setup();
  await world.queue("jobs", { order: "none", buckets: 1 });
  const urgent: PreparedRow[] = Array.from({ length: 300 }, () => ({ key: "k", dueS: -10 }));
  const [first, ...others] = await prepareRows(
    world,
    [...urgent, { key: "k", dueS: -800, priority: 5 }],
    "jobs",
  );
  const rows = await ask(world, "oldest-due", { queue: "jobs" });
  expect(fields(rows, "id")).toEqual([[others.at(-1)], [first]]);
});

test.each([
  [250, [], true],
  [251, [[null, false]], false],
] as const)(
  "oldest-due: with order none %d rows in process are not said to be all when more may wait behind them",
  async (count, answer, isAll) => {
    const world = await setup();
    await world.queue("jobs", { order: "none", buckets: 1 });
    const held = { key: "k", status: "processing", claimedBy: "w1", claimedS: -5, leaseEndS: 60 } as const;
    const rows = Array.from({ length: count }, () => ({ ...held, dueS: -900 }));
    await prepareRows(world, rows, "jobs");
    expect(fields(await ask(world, "oldest-due", { queue: "jobs" }), "id", "is_all")).toEqual(answer);
    await prepareRows(world, [{ key: "k", dueS: -800, priority: 5 }], "jobs", count);
    expect(fields(await ask(world, "oldest-due", { queue: "jobs" }), "is_all")).toEqual([[isAll]]);
  },
);

const heldRows: readonly PreparedRow[] = [
  { key: "a", status: "processing", claimedBy: "w1", claimedS: -300, leaseEndS: 50 },
  { key: "a", status: "processing", claimedBy: "w1", claimedS: -300, leaseEndS: 40 },
  { key: "a" },
  {
    key: "b",
    status: "processing",
    claimedBy: "w2",
    claimedS: -200,
    leaseEndS: -100,
    attempts: 2,
    crashes: 1,
  },
  { key: "c", status: "processing", claimedBy: "stranger", claimedS: -20, leaseEndS: -10 },
  { key: "d" },
];

test.each([
  ["inbox", "key"],
  ["jobs", "none"],
] as const)(
  "rows held in %s (order %s) are told by worker, and those beyond their lease by row",
  async (queue, order) => {
    const world = await setup();
    await world.queue(queue, { order });
    await register(world, "w1");
    await register(world, "w2", "status = 'dead'");
    await register(world, "w3", "last_seen_at = now() - interval '1 hour'");
    await register(world, "gone", "status = 'dead', left_at = now()");
    const ids = await prepareRows(world, heldRows, queue);
    const holders = await ask(world, "who-holds-what", { queue });
    expect(fields(holders, "worker", "state", "rows_held", "keys_held", "expired")).toEqual([
      ["w1", "alive", 2, 1, 0],
      ["stranger", null, 1, 1, 1],
      ["w2", "dead", 1, 1, 1],
      ["w3", "not seen", 0, 0, 0],
    ]);
    expect(holders[0]?.oldest_claim_s).toBeGreaterThanOrEqual(300);
    expect(holders[0]?.next_lease_end_s).toBeLessThanOrEqual(40);
    const expired = await ask(world, "expired-leases", { queue });
    expect(fields(expired, "id", "claimed_by", "worker_state", "attempts", "crashes")).toEqual([
      [ids[3], "w2", "dead", 2, 1],
      [ids[4], "stranger", null, 0, 0],
    ]);
    const held = await ask(world, "held-by", { queue, worker: "w1" });
    expect(fields(held, "id", "place", "lease_generation")).toEqual([
      [ids[0], 1, "7"],
      [ids[1], 2, "7"],
    ]);
    expect(await ask(world, "held-by", { queue, worker: "w3" })).toEqual([]);
  },
);

test("what was not looked at is said: a row without an id when nothing was found among the first rows", async () => {
  const world = await setup();
  await world.queue("jobs", { order: "none", buckets: 1 });
  await prepareRows(
    world,
    Array.from({ length: 250 }, () => ({ key: "k" })),
    "jobs",
  );
  const rows = await ask(world, "expired-leases", { queue: "jobs" });
  expect(fields(rows, "id", "looked", "is_all")).toEqual([[null, 250, false]]);
});

test("blocked-keys: a first row that waits, is parked or is late holds its line; healthy lines are not shown", async () => {
  const world = await setup();
  await world.queue("inbox", { order: "key", onDeadLetter: "park" });
  const ids = await prepareRows(world, [
    { key: "parked", status: "dead_letter", attempts: 12, error: "card refused", createdS: -900 },
    ...[1, 2, 3].map(() => ({ key: "parked" })),
    { key: "waits", dueS: 600, attempts: 3, createdS: -300, error: "timeout" },
    { key: "waits" },
    { key: "late", status: "processing", claimedBy: "w1", claimedS: -99, leaseEndS: -9 },
    { key: "works", status: "processing", claimedBy: "w1", claimedS: -9, leaseEndS: 9 },
    { key: "works" },
    { key: "idle" },
  ]);
  const rows = await ask(world, "blocked-keys");
  expect(fields(rows, "partition_key", "behind", "why", "head_id", "last_error", "claimed_by")).toEqual([
    ["parked", 3, "parked", ids[0], "card refused", null],
    ["waits", 1, "backoff", ids[4], "timeout", null],
    ["late", 0, "lease expired", ids[6], null, "w1"],
  ]);
  expect(rows[0]?.until).toBeNull();
  expect(rows[1]?.until).toBeInstanceOf(Date);
  const parked = await ask(world, "dead-by-key");
  expect(fields(parked, "partition_key", "dead_letters", "parked", "sample_id", "is_all")).toEqual([
    ["parked", 1, 1, ids[0], true],
  ]);
});

test("blocked-keys is empty for a queue without lines, where no row blocks another", async () => {
  const world = await setup();
  await world.queue("jobs", { order: "none" });
  const late = { key: "a", status: "processing", claimedBy: "w1", claimedS: -99, leaseEndS: -9 } as const;
  await prepareRows(world, [late, { key: "a" }], "jobs");
  expect(await ask(world, "blocked-keys", { queue: "jobs" })).toEqual([]);
});

test("dead letters by key, and by kind and error, with ids in the errors taken out", async () => {
  const world = await setup();
  await world.queue();
  const dead = { status: "dead_letter" } as const;
  const ids = await prepareRows(world, [
    { ...dead, key: "a", kind: "mail", finishedS: -300, error: "order 17 not found\nat x" },
    { ...dead, key: "a", kind: "mail", finishedS: -200, error: "order 18 not found\nat y", crashes: 1 },
    { ...dead, key: "b", kind: "mail", finishedS: -100, error: "order 19 not found" },
    { ...dead, key: "b", kind: "bill", finishedS: -50, error: "no such card" },
    { ...dead, key: "c", kind: "bill", finishedS: -40 },
    { key: "a", kind: "mail" },
  ]);
  const byKey = await ask(world, "dead-by-key");
  expect(fields(byKey, "partition_key", "dead_letters", "parked", "kinds", "sample_id", "looked")).toEqual([
    ["b", 2, 0, "bill, mail", ids[2], 5],
    ["a", 2, 0, "mail", ids[0], 5],
    ["c", 1, 0, "bill", ids[4], 5],
  ]);
  const byKind = await ask(world, "dead-by-kind");
  expect(fields(byKind, "kind", "error", "dead_letters", "keys", "crashes", "is_all")).toEqual([
    ["mail", "order # not found", 3, 2, 1, true],
    ["bill", "no error stored", 1, 1, 0, true],
    ["bill", "no such card", 1, 1, 0, true],
  ]);
});

test.each([
  ["inbox", "key"],
  ["jobs", "none"],
] as const)(
  "line-of-key: the rows of a key in %s (order %s) in the order in which they run, then scheduled ones",
  async (queue, order) => {
    const world = await setup();
    await world.queue(queue, { order });
    const ids = await prepareRows(
      world,
      [
        { key: "order:1", status: "processing", claimedBy: "w1", claimedS: -5, leaseEndS: 60, attempts: 1 },
        { key: "order:2" },
        { key: "order:1", error: "it's late" },
        { key: "order:1", status: "scheduled", dueS: 90 },
        { key: "order:1", status: "dead_letter", finishedS: -5 },
      ],
      queue,
    );
    const rows = await ask(world, "line-of-key", { queue, key: "order:1" });
    expect(fields(rows, "place", "status", "id", "claimed_by", "last_error")).toEqual([
      [1, "processing", ids[0], "w1", null],
      [2, "pending", ids[2], null, "it's late"],
      [null, "scheduled", ids[3], null, null],
    ]);
    expect(await ask(world, "line-of-key", { queue, key: "order:' or true --" })).toEqual([]);
  },
);
