import { expect, test } from "vitest";
import { deadLetter, InvalidOptionError, InvalidPayloadError, type Queue } from "../../src/index.js";
import { settableClock, setup, type World } from "../support/world.js";

const payloads = (jobs: readonly { readonly payload: unknown }[]): unknown[] =>
  jobs.map((job) => job.payload);

/** Every page of a search, with `between` called after each. */
async function allPages(inbox: Queue, filter: object, between: () => Promise<unknown> = async () => {}) {
  const found: string[] = [];
  let pages = 0;
  for (let cursor: string | null | undefined; cursor !== null; pages++) {
    const page = await inbox.search({ ...filter, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.jobs.map((job) => job.id));
    cursor = page.cursor;
    await between();
    expect(pages, "pages").toBeLessThan(1_000);
  }
  return { found, pages };
}

/** Straight into the table: so many rows of one kind, without the cost of an enqueue. */
async function fill(world: World, count: number): Promise<void> {
  await world.sql(
    "insert into leasehold.inbox (kind, payload, partition_key) select 'bulk', to_jsonb(n), 'k' || n % 50 from generate_series(1, $1::int) n",
    [count],
  );
}

async function kill(world: World, where = "true"): Promise<void> {
  await world.sql(
    `update leasehold.inbox set status = 'dead_letter', attempts = 5, last_error = 'no ' || payload::text,
       finished_at = case when (select on_dead_letter from leasehold.queues) = 'continue' then now() + seq * interval '1 microsecond' end where ${where}`,
  );
}

test("a search finds by kind, key, worker, status, error text and payload, newest first", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("a", { n: 1, order: { id: 9182 } }, { partitionKey: "k1" });
  await inbox.enqueue("b", { n: 2, order: { id: 7 } }, { partitionKey: "k1" });
  await inbox.enqueue("a", { n: 3 }, { partitionKey: "k2" });
  await inbox.enqueue("a", { n: 4 }, { delayMs: 60_000 });
  const found = async (filter: object) =>
    payloads((await inbox.search(filter)).jobs).map((payload) => (payload as { n: number }).n);
  expect(await found({})).toEqual([4, 3, 2, 1]);
  expect(await found({ kind: "a" })).toEqual([4, 3, 1]);
  expect(await found({ kind: "a", status: "pending" })).toEqual([3, 1]);
  expect(await found({ partitionKey: "k1" })).toEqual([2, 1]);
  expect(await found({ payload: { order: { id: 9182 } } })).toEqual([1]);
  expect(await found({ payload: {} })).toEqual([4, 3, 2, 1]);
  expect(await found({ workerId: "w1" })).toEqual([]);
  const bucket = (await inbox.list({ partitionKey: "k2" }))[0]!.bucket;
  const [job] = await inbox.claim({ workerId: "w1", buckets: [bucket] });
  expect(await found({ workerId: "w1" })).toEqual([3]);
  await inbox.fail(job!, new Error("100% of ORDERS_failed: [x]"));
  expect(await found({ workerId: "w1" }), "who failed it last").toEqual([3]);
  for (const error of ["orders", "0% of", "_FAILED: [X]", "100%"])
    expect(await found({ error })).toEqual([3]);
  for (const error of ["%", "order.", "1_0", ".*"])
    expect(await found({ error })).toEqual(error === "%" ? [3] : []);
  expect(await inbox.search({ error: "nowhere" })).toEqual({ jobs: [], looked: 4, cursor: null });
});

test("ages count from when a job was created", async () => {
  const clock = settableClock(new Date("2026-11-15T12:00:00Z"));
  const world = await setup({ clock });
  const inbox = await world.queue();
  for (const n of [1, 2, 3]) {
    await inbox.enqueue("a", n, { delayMs: n * 60_000 });
    clock.advance(10_000);
  }
  const found = async (filter: object) => payloads((await inbox.search(filter)).jobs);
  expect(await found({ olderThanMs: 20_000 })).toEqual([2, 1]);
  expect(await found({ newerThanMs: 20_000 })).toEqual([3, 2]);
  expect(await found({ olderThanMs: 20_000, newerThanMs: 20_000 })).toEqual([2]);
  expect(await found({ olderThanMs: 0, newerThanMs: 5_000 })).toEqual([]);
});

test("finished jobs are searched in the archive, dead letters in both", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "none", buckets: 1 });
  await inbox.enqueueMany([1, 2, 3, 4, 5].map((n) => ({ kind: "a", payload: n })));
  const jobs = await inbox.claim({ workerId: "w1", limit: 4 });
  await inbox.complete(jobs[0]!);
  await inbox.fail(jobs[1]!, deadLetter("old"));
  await inbox.fail(jobs[2]!, deadLetter("new"));
  await inbox.fail(jobs[3]!, deadLetter("redriven"));
  await world.sql(
    "update leasehold.inbox set finished_at = now() - interval '31 days' where last_error like '%old'",
  );
  await world.lh.housekeep();
  await inbox.discard({ status: "pending" });
  const found = async (filter: object) => payloads((await inbox.search(filter)).jobs);
  expect(await found({ status: "completed" })).toEqual([1]);
  expect(await found({ status: "completed", workerId: "w1" })).toEqual([1]);
  expect(await found({ status: "discarded" })).toEqual([5]);
  expect(await found({ status: "dead_letter" })).toEqual([4, 3, 2]);
  expect(await found({ status: "dead_letter", error: "OLD" })).toEqual([2]);
  expect(await found({})).toEqual([4, 3]);
  const { found: ids } = await allPages(inbox, { status: "dead_letter", limit: 1 });
  expect(ids).toHaveLength(3);
});

test.each([
  ["the queue", "continue", {}],
  ["dead letters", "continue", { status: "dead_letter" }],
  ["parked dead letters", "park", { status: "dead_letter" }],
  ["the archive", "continue", { status: "discarded" }],
] as const)("cursors go through %s once while jobs come and go", async (_, onDeadLetter, filter) => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", onDeadLetter });
  await fill(world, 300);
  const status = (filter as { status?: string }).status;
  if (status === "dead_letter") await kill(world, "seq % 3 > 0");
  if (status === "discarded") await inbox.discard({ kind: "bulk" });
  const where = status === "dead_letter" ? "where status = 'dead_letter'" : "";
  const table = status === "discarded" ? "inbox_archive" : "inbox";
  const there = await world.sql<{ id: string }>(`select id from leasehold.${table} ${where}`);
  const removed = new Set<string>();
  const comeAndGo = async () => {
    await fill(world, 3);
    if (status === "dead_letter") await kill(world, "seq > 300 and status = 'pending'");
    const gone = await world.sql<{ id: string }>(
      `delete from leasehold.${table} where id = (select id from leasehold.${table} ${where} order by id offset 5 limit 1) returning id`,
    );
    for (const { id } of gone) removed.add(id);
  };
  const { found, pages } = await allPages(inbox, { ...filter, limit: 17 }, comeAndGo);
  expect(new Set(found).size, "each once").toBe(found.length);
  const missing = there.filter(({ id }) => !found.includes(id) && !removed.has(id));
  expect(missing).toEqual([]);
  expect(pages).toBeGreaterThan(10);
});

test("jobs in line of a key are found without looking at others, the last place first", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const hot = Array.from({ length: 60 }, (_, i) => ({ kind: "hot", payload: i, partitionKey: "hot" }));
  await inbox.enqueueMany(hot);
  await fill(world, 100);
  const filter = { status: "pending", partitionKey: "hot" } as const;
  const first = await inbox.search({ ...filter, limit: 7 });
  expect(payloads(first.jobs)).toEqual([59, 58, 57, 56, 55, 54, 53]);
  expect(first.looked).toBe(7);
  const comeAndGo = async () => {
    await inbox.enqueue("hot", "new", { partitionKey: "hot" });
    await world.sql(
      "delete from leasehold.inbox where payload = '30' or kind = 'hot' and payload = '\"new\"'",
    );
  };
  const { found } = await allPages(inbox, { ...filter, limit: 7 }, comeAndGo);
  expect(found).toHaveLength(59);
  expect(new Set(found).size).toBe(59);
  const [job] = await inbox.claim({ workerId: "w1", limit: 1, buckets: [first.jobs[0]!.bucket] });
  const held = await inbox.search({ status: "processing", partitionKey: "hot" });
  expect(held.jobs.map(({ id }) => id)).toEqual([job!.id]);
  expect((await inbox.search({ status: "pending", partitionKey: "none" })).looked).toBe(0);
  const mail = await world.queue("mail", { order: "none" });
  await mail.enqueue("a", 1, { partitionKey: "k" });
  expect((await mail.search({ status: "pending", partitionKey: "k" })).jobs).toHaveLength(1);
});

test("parked dead letters of a key are found in its line", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", onDeadLetter: "park" });
  await fill(world, 100);
  await kill(world, "partition_key = 'k7'");
  const page = await inbox.search({ status: "dead_letter", partitionKey: "k7" });
  expect(payloads(page.jobs)).toEqual([57, 7]);
  expect(page).toMatchObject({ looked: 2, cursor: null });
});

test("jobs in process are searched from the oldest, each once", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await fill(world, 200);
  const claimed = (await inbox.claim({ workerId: "w1", limit: 40, run: 1 })).map(({ id }) => id);
  const { found } = await allPages(inbox, { status: "processing", limit: 7 }, () => fill(world, 3));
  expect(found).toEqual([...claimed].sort());
  expect((await inbox.search({ status: "processing", workerId: "w2" })).jobs).toEqual([]);
});

test("a search that finds nothing says how far it has looked, and goes on from there", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("rare", "first");
  await fill(world, 20_500);
  const first = await inbox.search({ kind: "rare" });
  expect(first).toMatchObject({ jobs: [], looked: 20_000 });
  const second = await inbox.search({ kind: "rare", cursor: first.cursor! });
  expect(second).toMatchObject({ jobs: [{ payload: "first" }], looked: 501, cursor: null });
  const early = await inbox.search({ kind: "bulk", limit: 10 });
  expect(early, "a full page ends the walk").toMatchObject({ looked: 10 });
  expect(JSON.parse(JSON.stringify(early))).toMatchObject({ jobs: early.jobs.map(({ id }) => ({ id })) });
});

test("a search of dead letters looks at nothing else, whatever is in the queue", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await fill(world, 4_200);
  await kill(world);
  await fill(world, 1_000);
  const first = await inbox.search({ status: "dead_letter", error: "nowhere" });
  expect(first).toMatchObject({ jobs: [], looked: 4_000 });
  const rest = await inbox.search({ status: "dead_letter", error: "nowhere", cursor: first.cursor! });
  expect(rest).toEqual({ jobs: [], looked: 200, cursor: null });
});

test("a dead letter that is moved to the archive while it is searched for is not found twice", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await fill(world, 10);
  await kill(world);
  const move = async () => {
    await world.sql(
      "update leasehold.inbox set finished_at = finished_at - interval '31 days' where finished_at > now() - interval '1 day'",
    );
    await world.lh.housekeep();
  };
  const first = await inbox.search({ status: "dead_letter", limit: 10 });
  await move();
  const rest = await allPages(inbox, { status: "dead_letter", cursor: first.cursor! });
  expect(rest.found).toEqual([]);
  expect((await allPages(inbox, { status: "dead_letter" })).found).toHaveLength(10);
});

test("an empty queue has nothing to search", async () => {
  const world = await setup();
  const inbox = await world.queue();
  for (const status of [undefined, "dead_letter", "completed"] as const)
    expect(await inbox.search(status === undefined ? {} : { status })).toEqual({
      jobs: [],
      looked: 0,
      cursor: null,
    });
});

test("a search refuses what it does not understand", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const id = "00000000-0000-7000-8000-000000000000";
  const bad: readonly object[] = [
    { status: "done" },
    { kind: 7 },
    { kind: "a\u0000" },
    { workerId: "\ud800" },
    { olderThanMs: -1 },
    { newerThanMs: Number.NaN },
    { newerThanMs: 1e300 },
    { error: "" },
    { error: "x".repeat(8_001) },
    { payload: "text" },
    { payload: [1] },
    { payload: null },
    { limit: 0 },
    { limit: 1_001 },
    { worker: "w1" },
    { cursor: "" },
    { cursor: 7 },
    { cursor: null },
    { cursor: "queue" },
    { cursor: `queue...${id}'; drop table inbox; --` },
    { cursor: `archive...${id}` },
    { cursor: `line..1.${id}` },
    { cursor: `line..9999999999999999999.${id}`, status: "pending", partitionKey: "k" },
    { cursor: `dead..9999999999999999999.${id}`, status: "dead_letter" },
    { cursor: `queue...${id}`, status: "processing" },
    { cursor: `queue...${id}`, status: "completed" },
    { cursor: `dead.99999999999999999999.1.${id}`, status: "dead_letter" },
  ];
  for (const filter of bad) {
    await expect(inbox.search(filter), JSON.stringify(filter)).rejects.toBeInstanceOf(InvalidOptionError);
  }
  const far = { cursor: `line..9223372036854775807.${id}`, status: "pending", partitionKey: "k" } as const;
  expect(await inbox.search(far)).toEqual({ jobs: [], looked: 0, cursor: null });
  const old = { cursor: `dead.99999999999999999.99999999999999999.${id}`, status: "dead_letter" } as const;
  expect(await inbox.search(old)).toEqual({ jobs: [], looked: 0, cursor: null });
  await expect(inbox.search({ payload: { a: "\u0000" } })).rejects.toBeInstanceOf(InvalidPayloadError);
  await expect(inbox.list({ kind: "a\u0000" })).rejects.toBeInstanceOf(InvalidOptionError);
});
