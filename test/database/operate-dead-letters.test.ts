import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { deadLetter, InvalidOptionError, type Queue } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

async function fingerprints(world: World, errors: readonly (string | null)[]): Promise<string[]> {
  const rows = await world.sql<{ f: string }>(
    "select leasehold.error_fingerprint(e) as f from unnest($1::text[]) with ordinality u(e, n) order by n",
    [errors],
  );
  return rows.map((row) => row.f);
}

/** Dead letters straight into the table, one for each error, in this order. */
async function kill(world: World, kind: string, errors: readonly (string | null)[]): Promise<void> {
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key)
     select $1, to_jsonb(n), 'k' || n % 3 from generate_series(1, $2::int) n`,
    [kind, errors.length],
  );
  await world.sql(
    `update leasehold.inbox j set status = 'dead_letter', attempts = 5, last_error = e,
       errors = jsonb_build_array(jsonb_build_object('at', timestamptz '2026-11-15T12:00:00Z' + n * interval '1 s')),
       finished_at = case when q.on_dead_letter = 'continue' then timestamptz '2026-11-15T12:00:00Z' + n * interval '1 s' end
     from unnest($1::text[]) with ordinality u(e, n), leasehold.queues q where q.name = 'inbox' and payload = to_jsonb(n) and kind = $2 and status = 'pending'`,
    [errors, kind],
  );
}

async function countOf(world: World, status: string, kind: string): Promise<number> {
  const [row] = await world.sql<{ n: number }>(
    "select count(*)::int as n from leasehold.inbox where status = $1 and kind = $2",
    [status, kind],
  );
  return row!.n;
}

const twins: readonly (readonly [string | null, string | null])[] = [
  ["connect ECONNREFUSED 10.0.3.17:5432", "connect ECONNREFUSED 10.12.3.1:5433"],
  ["order 9182 not found", "order 1 not found"],
  ["job 0193a1ef-54ff-7abc-9abc-0123456789ab failed", "job ffffffff-abcd-abcd-abcd-abcdefabcdef failed"],
  ["at 0xdeadbeef", "at 0x01"],
  ["user 'Ann' is blocked", "user 'Bob O Hara' is blocked"],
  [`key "a b" exists`, `key "" exists`],
  ["unknown field `name`", "unknown field `title`"],
  ["can't open 'a b'", "can't open 'c'"],
  ["no cus_Nf8aK2 here", "no cus_9 here"],
  ["timeout\n    at handler (a.ts:1)", "timeout\n    at other (b.ts:99)"],
  ["\n\n  timeout", "timeout"],
  [`value "${"x".repeat(400)}" refused`, `value "${"y".repeat(900)}" refused`],
  ["12", "7"],
  [null, ""],
];

test("errors that differ in numbers, ids and quotations have one fingerprint", async () => {
  const world = await setup();
  const ones = await fingerprints(
    world,
    twins.map(([one]) => one),
  );
  const others = await fingerprints(
    world,
    twins.map(([, other]) => other),
  );
  expect(twins.filter((_, i) => ones[i] !== others[i])).toEqual([]);
  for (const fingerprint of ones) expect(fingerprint).toMatch(/^[0-9a-f]{12}$/);
});

test("errors that say different things have different fingerprints, whatever they are made of", async () => {
  const world = await setup();
  const errors = [
    "timeout",
    "time out",
    "connect ECONNREFUSED",
    "connect ECONNRESET",
    "order not found",
    "Order not found",
    "",
    "'",
    "\u{1f4a9}",
    "%_\\",
    "(((((",
    "a".repeat(8_000),
    "' or ''=''; drop table x; --",
  ];
  const all = await fingerprints(world, errors);
  const same = errors.filter((_, i) => all.indexOf(all[i]!) !== i);
  expect(same).toEqual([]);
});

test.each(["continue", "park"] as const)(
  "dead letters are grouped by kind and error, largest first (%s)",
  async (onDeadLetter) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order: "key", onDeadLetter });
    expect(await inbox.deadLetters()).toEqual({ groups: [], omitted: 0, looked: 0, cursor: null });
    await kill(world, "mail", ["HTTP 503", "order 1 not found", "HTTP 504"]);
    await kill(world, "bill", ["HTTP 500", null]);
    await inbox.enqueue("mail", "waits");
    const answer = await inbox.deadLetters();
    const [first, ...others] = answer.groups.map(({ kind, error, count }) => `${count} ${kind}: ${error}`);
    expect(first).toBe("2 mail: HTTP 504");
    expect(others.sort()).toEqual(["1 bill: HTTP 500", "1 bill: null", "1 mail: order 1 not found"]);
    const [largest] = answer.groups;
    expect(largest).toMatchObject({
      firstAt: new Date("2026-11-15T12:00:01Z"),
      lastAt: new Date("2026-11-15T12:00:03Z"),
    });
    expect(await inbox.get(largest!.sampleId)).toMatchObject({ lastError: "HTTP 504" });
    expect(answer).toMatchObject({ omitted: 0, cursor: null, looked: onDeadLetter === "park" ? 6 : 5 });
    expect(await inbox.deadLetters({ kind: "bill", limit: 1 })).toMatchObject({
      groups: [{ kind: "bill" }],
      omitted: 1,
    });
    expect(await inbox.deadLetters({ kind: "other" })).toMatchObject({ groups: [], omitted: 0 });
    expect(JSON.parse(JSON.stringify(answer))).toMatchObject({ groups: [{ count: 2 }, {}, {}, {}] });
    const found = await inbox.search({
      status: "dead_letter",
      fingerprint: largest!.fingerprint,
      kind: "mail",
    });
    expect(found.jobs.map((job) => job.lastError).sort()).toEqual(["HTTP 503", "HTTP 504"]);
  },
);

test("cursors count every dead letter once while others die and are redriven", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await kill(
    world,
    "a",
    Array.from({ length: 4_500 }, (_, i) => `order ${i} not found`),
  );
  const first = await inbox.deadLetters();
  expect(first).toMatchObject({ groups: [{ count: 4_000 }], looked: 4_000 });
  await kill(world, "new", ["HTTP 503"]);
  await world.sql("update leasehold.inbox set finished_at = now() where kind = 'new'");
  await inbox.retry({ kind: "a", limit: 100 });
  const second = await inbox.deadLetters({ cursor: first.cursor! });
  expect(second).toMatchObject({ groups: [{ kind: "a", count: 400 }], looked: 400, cursor: null });
});

async function groups(inbox: Queue): Promise<Map<string, string>> {
  const answer = await inbox.deadLetters();
  return new Map(answer.groups.map(({ kind, error, fingerprint }) => [`${kind} ${error}`, fingerprint]));
}

test("a group is redriven in order, and nothing else", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await kill(world, "mail", ["HTTP 503", "order 1 not found", "HTTP 504", "HTTP 1"]);
  await kill(world, "bill", ["HTTP 503"]);
  await inbox.enqueue("mail", "waits", { delayMs: 60_000 });
  await world.sql("update leasehold.inbox set last_error = 'HTTP 9' where status = 'scheduled'");
  const fingerprint = (await groups(inbox)).get("mail HTTP 1")!;
  expect(await inbox.retry({ fingerprint, kind: "mail" })).toBe(3);
  const rows = await world.sql<{ payload: number }>(
    "select payload from leasehold.inbox where status = 'pending' order by seq",
  );
  expect(rows.map((row) => row.payload)).toEqual([1, 3, 4]);
  expect(await countOf(world, "dead_letter", "mail")).toBe(1);
  expect(await countOf(world, "scheduled", "mail")).toBe(1);
  expect(await inbox.retry({ fingerprint }), "the other kind").toBe(1);
});

test("a group is discarded, and jobs that wait with the same error stay", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await kill(world, "mail", ["HTTP 503", "order 1 not found", "HTTP 504"]);
  await inbox.enqueue("mail", "waits", { delayMs: 60_000 });
  await world.sql("update leasehold.inbox set last_error = 'HTTP 9' where status = 'scheduled'");
  const fingerprint = (await groups(inbox)).get("mail HTTP 504")!;
  expect(await inbox.discard({ fingerprint, reason: "known" })).toBe(2);
  expect(await countOf(world, "dead_letter", "mail")).toBe(1);
  expect(await inbox.discard({ fingerprint, status: "scheduled" }), "asked for").toBe(1);
});

test("a redrive of many batches picks its jobs once, since each pick may read the whole table", async () => {
  const world = await setup();
  await world.queue();
  await kill(
    world,
    "a",
    Array.from({ length: 3_500 }, (_, i) => `HTTP ${i}`),
  );
  const pool = new pg.Pool({ connectionString: world.url, max: 2 });
  onTestFinished(() => pool.end());
  const inbox = await (await world.connect({ pool })).queue("inbox");
  let queries = 0;
  pool.on("acquire", () => {
    queries += 1;
  });
  const fingerprint = (await inbox.deadLetters()).groups[0]!.fingerprint;
  queries = 0;
  expect(await inbox.retry({ fingerprint })).toBe(3_500);
  expect(queries, "the place, the pick, four batches").toBe(6);
  await world.sql("update leasehold.inbox set status = 'dead_letter', finished_at = now()");
  queries = 0;
  expect(await inbox.discard({ fingerprint, limit: 2_500 })).toBe(2_500);
  expect(queries, "the pick, three batches").toBe(4);
  expect(await countOf(world, "dead_letter", "a")).toBe(1_000);
});

test("an error that was thrown comes back in its group", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2].map((n) => ({ kind: "a", payload: n })));
  for (const job of await inbox.claim({ workerId: "w1" })) await inbox.fail(job, deadLetter(`no ${job.id}`));
  expect((await inbox.deadLetters()).groups).toMatchObject([{ kind: "a", count: 2 }]);
});

test("groups and fingerprints that can't be are refused", async () => {
  const world = await setup();
  const inbox = await world.queue();
  for (const options of [
    { kind: 7 },
    { kind: "\u0000" },
    { limit: 0 },
    { limit: 1e9 },
    { cursor: "x" },
    { king: "a" },
  ])
    await expect(inbox.deadLetters(options as object), JSON.stringify(options)).rejects.toBeInstanceOf(
      InvalidOptionError,
    );
  for (const fingerprint of ["", "xyz", "ABCDEF012345", 7, null, "abcdef0123456"]) {
    const filter = { fingerprint } as object;
    await expect(inbox.retry(filter)).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(inbox.discard(filter)).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(inbox.search(filter)).rejects.toBeInstanceOf(InvalidOptionError);
  }
  await expect(inbox.list({ fingerprint: "abcdef012345" } as object)).rejects.toBeInstanceOf(
    InvalidOptionError,
  );
});
