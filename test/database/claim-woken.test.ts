import { expect, test } from "vitest";
import type { Queue } from "../../src/index.js";
import { openTransaction, untilBlockedBy } from "../support/claims.js";
import { setup, type World } from "../support/world.js";

interface Answer {
  readonly id: string | null;
  readonly kind: string | null;
  readonly payload: unknown;
  readonly seq: string | null;
  readonly lease_generation: string | null;
}

const key = "order:9182";
const lookProperly = "look";
const bucket = `leasehold.bucket_of('${key}', 360)`;
const wokenClaim = `select * from leasehold.inbox_claim_woken($1, array[${bucket}], 25, $2, 60000, null, array[$3::bigint])`;

const inProcess = `update leasehold.inbox set status = 'processing', claimed_by = 'b', lease_expires_at = now()`;

/** What a woken claim takes: payloads; or `look` when it leaves the bucket to the full claim. */
async function woken(world: World, { worker = "a", run = 20, turn = "0" } = {}): Promise<unknown> {
  const answers = await world.sql<Answer>(wokenClaim, [worker, run, turn]);
  if (answers[0]?.kind === lookProperly) return lookProperly;
  return answers.filter(({ id }) => id !== null).map(({ payload }) => payload);
}

/** With its bucket in turn 0, which is that of a claimer who remembers nothing. */
async function queueWith(world: World, payloads: readonly string[], order: "key" | "none"): Promise<Queue> {
  const inbox = await world.queue("inbox", { order });
  if (order === "key") await world.sql(`insert into leasehold.inbox_turns values (${bucket}, 0)`);
  await add(inbox, payloads);
  return inbox;
}

async function add(inbox: Queue, payloads: readonly string[], delayMs?: number): Promise<void> {
  for (const payload of payloads)
    await inbox.enqueue("step", payload, {
      partitionKey: key,
      ...(delayMs === undefined ? {} : { delayMs }),
    });
}

test.each(["key", "none"] as const)(
  "takes what is fresh under one token and says what falls due (%s)",
  async (order) => {
    const world = await setup();
    const inbox = await queueWith(world, ["first", "second", "third"], order);
    await add(inbox, ["later"], 3_000);
    const answers = await world.sql<Answer>(wokenClaim, ["a", 20, "0"]);
    const [rest, ...jobs] = answers;
    expect(jobs.map(({ payload }) => payload)).toEqual(["first", "second", "third"]);
    expect(Number(rest?.seq)).toBeGreaterThan(1_000);
    const rows = await world.sql<{ token: string; claimed_by: string; attempts: number }>(
      "select distinct lease_generation::text as token, claimed_by, attempts from leasehold.inbox where status = 'processing'",
    );
    expect(rows).toEqual([{ token: rest?.lease_generation, claimed_by: "a", attempts: 1 }]);
    expect(await woken(world)).toEqual([]);
  },
);

test.each(["key", "none"] as const)(
  "leaves a paused queue, and a worker marked dead, to the full claim (%s)",
  async (order) => {
    const world = await setup();
    const inbox = await queueWith(world, ["first"], order);
    await inbox.pause();
    expect(await woken(world)).toBe(lookProperly);
    await inbox.resume();
    await world.sql("insert into leasehold.workers (id, status) values ('dead', 'dead')");
    expect(await woken(world, { worker: "dead" })).toBe(lookProperly);
    expect(await woken(world)).toEqual(["first"]);
  },
);

test("without order, what somebody has locked is skipped and a retry is left to the full claim", async () => {
  const world = await setup();
  await queueWith(world, ["locked", "retry", "free"], "none");
  await world.sql(`update leasehold.inbox set attempts = 1 where payload = '"retry"'`);
  const person = await world.client();
  await person.query("begin");
  await person.query(`select 1 from ${world.schema}.inbox where payload = '"locked"' for update`);
  expect(await woken(world)).toEqual(["free"]);
  await person.query("rollback");
  expect(await woken(world)).toEqual(["locked"]);
});

test("a key with a row in process gives nothing, wherever in its line that is", async () => {
  const world = await setup();
  await queueWith(world, ["first", "second", "third"], "key");
  await world.sql(`${inProcess} + interval '1 minute' where payload = '"second"'`);
  expect(await woken(world)).toEqual([]);
});

test("a row that is not due keeps back what is behind it", async () => {
  const world = await setup();
  await queueWith(world, ["first", "second", "third"], "key");
  await world.sql(
    `update leasehold.inbox set available_at = now() + interval '1 hour' where payload = '"second"'`,
  );
  await world.sql("vacuum full leasehold.inbox"); // A row that was written again looks as if somebody had locked it.
  expect(await woken(world)).toEqual(["first"]);
});

const onlyTheFullClaim: readonly [string, (world: World) => Promise<unknown>][] = [
  ["in another turn", (world) => world.sql("update leasehold.inbox_turns set turn = 7")],
  [
    "with a retry at the head of a key",
    (world) => world.sql(`update leasehold.inbox set attempts = 1 where payload = '"first"'`),
  ],
  [
    "with a row whose lease has run out",
    (world) => world.sql(`${inProcess} - interval '1 minute' where payload = '"first"'`),
  ],
  [
    "with a row of a dead worker",
    async (world) => {
      await world.sql("insert into leasehold.workers (id, status) values ('b', 'dead')");
      await world.sql(`${inProcess} + interval '1 minute' where payload = '"first"'`);
    },
  ],
  [
    "with a row that somebody has locked",
    (world) => world.sql(`select 1 from leasehold.inbox where payload = '"second"' for update`),
  ],
  [
    "with the memory of a long key",
    (world) => world.sql(`insert into leasehold.inbox_hot_keys values (${bucket}, '${key}', 1, null)`),
  ],
];

test.each(onlyTheFullClaim)("a bucket %s is left to the full claim", async (_, arrange) => {
  const world = await setup();
  await queueWith(world, ["first", "second"], "key");
  await arrange(world);
  expect(await woken(world)).toBe(lookProperly);
});

test("more rows than a run, a bucket in which somebody is at work, and an older snapshot are left to the full claim", async () => {
  const world = await setup();
  await queueWith(world, ["first", "second"], "key");
  expect(await woken(world, { run: 1 })).toBe(lookProperly);
  const other = await world.client();
  await other.query("begin");
  await other.query(
    `select pg_advisory_xact_lock(${world.schema}.lock_class('${world.schema}.inbox'), ${bucket.replaceAll("leasehold.", `${world.schema}.`)})`,
  );
  expect(await woken(world)).toBe(lookProperly);
  await other.query("rollback");
  await other.query("begin isolation level repeatable read");
  const { rows } = await other.query<Answer>(wokenClaim.replaceAll("leasehold.", `${world.schema}.`), [
    "a",
    20,
    "0",
  ]);
  expect(rows.map(({ kind }) => kind)).toEqual([lookProperly]);
});

test("a row that a person puts off between look and write keeps everything from being claimed", async () => {
  const world = await setup();
  await queueWith(world, ["first", "second", "third"], "key");
  await world.sql("create table leasehold.gate ()");
  await world.sql(`create or replace function leasehold.inbox_next_due(p_buckets int[], p_now timestamptz) returns bigint
    language plpgsql as $$ begin perform 1 from leasehold.gate; return null; end $$`);
  const gate = await openTransaction(world);
  await gate.tx.query(`lock table ${world.schema}.gate in access exclusive mode`);
  // A person's row lock ends before the claim's patience does; the gate itself must not try it.
  await world.sql("alter function leasehold.inbox_claim_woken set lock_timeout = '60s'");
  const claiming = woken(world).catch((error: unknown) => error);
  await untilBlockedBy(world, gate.pid);
  await world.sql(
    `update leasehold.inbox set available_at = now() + interval '1 hour' where payload = '"second"'`,
  );
  await gate.rollback();
  expect(await claiming).toMatchObject({ code: "40001" });
  expect(await world.sql("select 1 from leasehold.inbox where status = 'processing'")).toEqual([]);
});

test("many rows that commit late below a row which a woken claim took wait for it", async () => {
  const world = await setup();
  const inbox = await queueWith(world, ["first"], "key");
  expect(await woken(world)).toEqual(["first"]);
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key, max_attempts, seq) select 'step', to_jsonb(n), '${key}', 12, -n from generate_series(1, 60) n`,
  );
  expect(await inbox.claim({ workerId: "b", limit: 25 })).toEqual([]);
});
