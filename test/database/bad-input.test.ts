import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { connect, type Leasehold, LeaseholdError, type Queue, type QueueOptions } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

/** A queue on a pool that counts how often a connection is taken from it: no connection, no SQL. */
interface Watched {
  readonly world: World;
  readonly lh: Leasehold;
  readonly inbox: Queue;
  readonly pool: pg.Pool;
  readonly taken: () => number;
}

async function watched(): Promise<Watched> {
  const world = await setup();
  const pool = new pg.Pool({ connectionString: world.url, max: 4 });
  onTestFinished(() => pool.end());
  const lh = await world.connect({ pool });
  const inbox = await lh.queue("inbox", { order: "key" });
  let taken = 0;
  pool.on("acquire", () => {
    taken += 1;
  });
  return { world, lh, inbox, pool, taken: () => taken };
}

type Cases = readonly (readonly [name: string, code: string, act: () => Promise<unknown>])[];

/** Every case is refused with its code, no connection is taken, and the tables are as empty as before. */
async function expectRefusedBeforeSql({ world, taken }: Watched, cases: Cases): Promise<void> {
  for (const [name, code, act] of cases) {
    const before = taken();
    const error = await act().then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error, name).toBeInstanceOf(LeaseholdError);
    expect(error, name).toMatchObject({ code });
    expect(taken() - before, `${name} reached the database`).toBe(0);
  }
  const [rows] = await world.sql<{ count: number }>(
    `select ((select count(*) from leasehold.inbox) + (select count(*) from leasehold.dedupe)
      + (select count(*) from leasehold.inbox_archive))::int as count`,
  );
  expect(rows?.count).toBe(0);
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

function cyclic(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

test("a payload that can't be stored as it is raises before any SQL, also among many and on a transaction", async () => {
  const all = await watched();
  const { inbox } = all;
  const tx = { query: () => Promise.reject(new Error("the transaction was used")) };
  const payloads: readonly (readonly [name: string, payload: unknown])[] = [
    ["NUL", { a: "x\u0000" }],
    ["a lone surrogate", { a: "\udc00" }],
    ["NUL in a property name", { "a\u0000": 1 }],
    ["a cycle", cyclic()],
    ["a BigInt", { id: 1n }],
    ["undefined", undefined],
    ["a function", () => 1],
    ["NaN", { n: Number.NaN }],
    ["a Date", { at: new Date(0) }],
    ["a Map", new Map()],
    ["nesting over 100", nested(101)],
  ];
  const large: readonly unknown[] = ["x".repeat(65_535), "é".repeat(32_768), ["\u0001".repeat(10_923)]];
  const invalid = "LH_INVALID_PAYLOAD";
  await expectRefusedBeforeSql(all, [
    ...payloads.flatMap(
      ([name, payload]): Cases => [
        [name, invalid, () => inbox.enqueue("k", payload)],
        [`${name} on a transaction`, invalid, () => inbox.enqueue("k", payload, { tx })],
        [`${name} with a key`, invalid, () => inbox.enqueue("k", payload, { idempotencyKey: "a" })],
        [
          `${name} among others`,
          invalid,
          () => inbox.enqueueMany([1, payload].map((p) => ({ kind: "k", payload: p }))),
        ],
        [`${name} in a header`, invalid, () => inbox.enqueue("k", 1, { headers: { a: [payload] } })],
      ],
    ),
    ...large.map((payload): Cases[number] => [
      "too large",
      "LH_PAYLOAD_TOO_LARGE",
      () => inbox.enqueue("k", payload),
    ]),
    [
      "large headers",
      "LH_PAYLOAD_TOO_LARGE",
      () => inbox.enqueue("k", 1, { headers: { a: "x".repeat(65_536) } }),
    ],
  ]);
  const { id } = await inbox.enqueue("k", "x".repeat(65_534));
  expect((await inbox.get(id))?.payload).toHaveLength(65_534);
  expect(all.taken()).toBe(2);
});

test("a kind or key that is empty, too long in bytes or not storable raises before any SQL", async () => {
  const all = await watched();
  const { inbox } = all;
  const bad = (max: number): readonly string[] => [
    "",
    "x".repeat(max + 1),
    "é".repeat(max / 2 + 1),
    "中".repeat(Math.floor(max / 3) + 1),
    "\u{1f600}".repeat(max / 4 + 1),
    "a\u0000b",
    "\ud83d",
  ];
  const code = "LH_INVALID_KEY";
  await expectRefusedBeforeSql(all, [
    ...bad(256).map((kind): Cases[number] => [`kind ${kind}`, code, () => inbox.enqueue(kind, 1)]),
    ...bad(512).flatMap(
      (key): Cases => [
        [`partition key ${key}`, code, () => inbox.enqueue("k", 1, { partitionKey: key })],
        [`idempotency key ${key}`, code, () => inbox.enqueue("k", 1, { idempotencyKey: key })],
        [
          `key ${key} among many`,
          code,
          () => inbox.enqueueMany([{ kind: "k", payload: 1, partitionKey: key }]),
        ],
      ],
    ),
    ...bad(256).map((workerId): Cases[number] => [
      `worker ${workerId}`,
      code,
      () => inbox.claim({ workerId }),
    ]),
  ]);
  const longest = { partitionKey: "中".repeat(170), idempotencyKey: "\u{1f600}".repeat(128) };
  const { id } = await inbox.enqueue("é".repeat(128), 1, longest);
  expect(await inbox.get(id)).toMatchObject({ kind: "é".repeat(128), ...longest });
});

test("a number, time or filter out of range raises before any SQL", async () => {
  const all = await watched();
  const { inbox } = all;
  const [workerId, held] = ["w1", { id: "a", workerId: "w1", fenceToken: 1n }];
  const enqueue = (options: object) => () => inbox.enqueue("k", 1, options);
  const claim = (options: object) => () => inbox.claim({ workerId, ...options });
  const acts: readonly (readonly [name: string, act: () => Promise<unknown>])[] = [
    ...[0, -1, 1_001, 1.5, Number.NaN].map((n) => [`maxAttempts ${n}`, enqueue({ maxAttempts: n })] as const),
    ...[-1, 0.5, 315_360_000_001].map((n) => [`delayMs ${n}`, enqueue({ delayMs: n })] as const),
    ...[2 ** 31, -(2 ** 31), 0.5].map((n) => [`priority ${n}`, enqueue({ priority: n })] as const),
    ...[Number.NaN, -1, 253_402_300_800_000].map(
      (n) => [`availableAt ${n}`, enqueue({ availableAt: new Date(n) })] as const,
    ),
    ["both times", enqueue({ availableAt: new Date(), delayMs: 1 })],
    ["headers that are no object", enqueue({ headers: ["a"] })],
    ["too many jobs", () => inbox.enqueueMany(new Array(100_001))],
    ...[-1, 5_001, 1.5].map((n) => [`limit ${n}`, claim({ limit: n })] as const),
    ...[[-1], [360], [0, 0.5], [Number.NaN]].map((n) => [`buckets ${n}`, claim({ buckets: n })] as const),
    ...[99, 86_400_001].map((n) => [`leaseMs ${n}`, claim({ leaseMs: n })] as const),
    ["run 0", claim({ run: 0 })],
    ["retries -1", claim({ retries: -1 })],
    ["suspects -1", claim({ suspects: -1 })],
    ["renewal of 99 ms", () => inbox.renew(held, 99)],
    ["an id that is none", () => inbox.get("1 or 1=1")],
    ["why of an id that is none", () => inbox.why("")],
    ["a page of 1001", () => inbox.list({ limit: 1_001 })],
    ["a page before nonsense", () => inbox.list({ before: "x" })],
    ["a status that is none", () => inbox.list({ status: "done" as "completed" })],
    ["retry of nonsense", () => inbox.retry({ ids: ["x"] })],
    ["retry of what runs", () => inbox.retry({ status: "processing" })],
    ["discard without a filter", () => inbox.discard({})],
    ["discard of what runs", () => inbox.discard({ status: "processing" })],
  ];
  await expectRefusedBeforeSql(
    all,
    acts.map(([name, act]): Cases[number] => [name, "LH_INVALID_OPTION", act]),
  );
});

test("a schema or queue name outside of the pattern raises before any SQL", async () => {
  const all = await watched();
  const { lh, pool } = all;
  const names = [
    "",
    "Inbox",
    "a-b",
    'a"',
    "a'; drop schema public cascade; --",
    "a\u0000",
    "é",
    "x".repeat(49),
    "pg_a",
    "1a",
  ];
  const code = "LH_INVALID_NAME";
  await expectRefusedBeforeSql(all, [
    ...names.flatMap(
      (name): Cases => [
        [`queue ${name}`, code, () => lh.queue(name, { order: "key" })],
        [`schema ${name}`, code, () => connect({ pool, schema: name })],
      ],
    ),
    ...["workers", "other_archive", "other_a20261115"].map((name): Cases[number] => [
      `queue ${name}`,
      code,
      () => lh.queue(name, { order: "key" }),
    ]),
  ]);
});

test("queue options that make no sense raise before any SQL and create nothing", async () => {
  const all = await watched();
  const options: readonly object[] = [
    { order: "none", strict: true },
    { order: "none", onDeadLetter: "park" },
    { order: "fifo" },
    { order: "key", strict: 1 },
    { order: "key", onDeadLetter: "drop" },
    { order: "key", ring: "round" },
    ...[0, 1_025, 1.5].map((buckets) => ({ order: "key", buckets })),
    ...[-1, 315_360_000_001].map((retentionMs) => ({ order: "key", retentionMs })),
    ...[0, 999].map((dedupeWindowMs) => ({ order: "key", dedupeWindowMs })),
    ...[1, 16_777_217].map((payloadLimitBytes) => ({ order: "key", payloadLimitBytes })),
    ...[0, 1_001].map((maxAttempts) => ({ order: "key", maxAttempts })),
  ];
  const open = (given: object) => () => all.lh.queue("other", given as QueueOptions);
  await expectRefusedBeforeSql(
    all,
    options.map((given): Cases[number] => [JSON.stringify(given), "LH_INVALID_OPTION", open(given)]),
  );
  expect(await all.world.sql("select name from leasehold.queues")).toEqual([{ name: "inbox" }]);
});

test("a queue that was never created is unknown while no order is given, and nothing is made", async () => {
  const world = await setup();
  const unknown = world.lh.queue("inbox", { buckets: 12 });
  await expect(unknown).rejects.toMatchObject({ name: "UnknownQueueError", code: "LH_UNKNOWN_QUEUE" });
  expect(await world.sql("select to_regclass('leasehold.inbox') as made")).toEqual([{ made: null }]);
});

test("a queue opened with fixed settings that disagree raises for each of them, and stays as it is", async () => {
  const world = await setup();
  const stored: QueueOptions = { order: "key", buckets: 12 };
  await world.queue("inbox", stored);
  const before = await world.sql("select * from leasehold.queues");
  const others: readonly QueueOptions[] = [
    { order: "none" },
    { strict: true },
    { onDeadLetter: "park" },
    { buckets: 13 },
    { ring: "consistent" },
    { retentionMs: 0 },
  ];
  for (const other of others) {
    const opened = world.lh.queue("inbox", other);
    await expect(opened, JSON.stringify(other)).rejects.toMatchObject({ code: "LH_QUEUE_MISMATCH" });
    await expect(opened).rejects.toThrow(Object.keys(other)[0]!);
  }
  expect(await world.sql("select * from leasehold.queues")).toEqual(before);
  expect(
    (await world.lh.queue("inbox", { ...stored, payloadLimitBytes: 9 })).settings.payloadLimitBytes,
  ).toBe(9);
});
