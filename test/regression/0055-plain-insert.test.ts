import { expect, onTestFinished, test } from "vitest";
import { setup, type World } from "../support/world.js";

/** A plain insert into a queue's table was stored without being deduplicated and woke nobody. */

const rows = (world: World) =>
  world.sql("select kind, partition_key, payload, status, idempotency_key from leasehold.inbox order by seq");

test.each(["key", "none"] as const)(
  "a plain insert needs nothing but a payload, in a queue with order %s",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order });
    const [made] = await world.sql<{ id: string }>(
      `insert into leasehold.inbox (payload) values ('{"order": 1}') returning id`,
    );
    expect(await rows(world)).toEqual([
      {
        kind: "job",
        partition_key: made?.id,
        payload: { order: 1 },
        status: "pending",
        idempotency_key: null,
      },
    ]);
    const [job] = await inbox.claim({ workerId: "w" });
    expect(job).toMatchObject({ id: made?.id, kind: "job", payload: { order: 1 }, attempt: 1 });
    expect(await inbox.complete(job!)).toBe(true);
  },
);

test("rows of one statement keep their order, and what falls due later is scheduled", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await world.sql(
    "insert into leasehold.inbox (kind, payload, partition_key) select 'step', to_jsonb(n), 'k' from generate_series(1, 15) n",
  );
  await world.sql(
    "insert into leasehold.inbox (kind, payload, partition_key, available_at) values ('later', '1', 'k', now() + interval '1 hour')",
  );
  const jobs = await inbox.claim({ workerId: "w", limit: 100 });
  expect(jobs.map((job) => job.payload)).toEqual(Array.from({ length: 15 }, (_, nth) => nth + 1));
  expect(await world.sql("select kind from leasehold.inbox where status = 'scheduled'")).toEqual([
    { kind: "later" },
  ]);
});

test("a second row with an idempotency key becomes no row and no error, whichever way the first one came", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const insert = (key: string, more = "") =>
    world.sql(
      `insert into leasehold.inbox (payload, idempotency_key) values ('1', '${key}') ${more} returning id`,
    );
  expect(await insert("a")).toHaveLength(1);
  expect(await insert("a")).toHaveLength(0);
  expect(await insert("a", "on conflict do nothing")).toHaveLength(0);
  const enqueued = await inbox.enqueue("step", 1, { idempotencyKey: "b" });
  expect(await insert("b", "on conflict do nothing")).toHaveLength(0);
  expect(await inbox.enqueue("step", 1, { idempotencyKey: "a" })).toMatchObject({ duplicate: true });
  expect(
    await world.sql(
      "insert into leasehold.inbox (payload, idempotency_key) values ('1', 'c'), ('2', 'd'), ('3', 'c') returning payload",
    ),
  ).toEqual([{ payload: 1 }, { payload: 2 }]);
  expect(await rows(world)).toHaveLength(4);
  for (const job of await inbox.claim({ workerId: "w", limit: 10 })) await inbox.complete(job);
  expect(await insert("a")).toHaveLength(0); // it answers after it has finished, too
  expect(await inbox.enqueue("step", 1, { idempotencyKey: "b" })).toEqual({
    id: enqueued.id,
    duplicate: true,
  });
  await world.sql("update leasehold.dedupe set expires_at = now() - interval '1 s'");
  expect(await insert("a")).toHaveLength(1);
});

test("of two transactions that insert one key at once one row is stored, and the second waits for the first", async () => {
  const world = await setup();
  await world.queue();
  const [one, other] = [await world.client(), await world.client()];
  const text = `insert into ${world.schema}.inbox (payload, idempotency_key) values ('1', 'a') returning id`;
  await one.query("begin");
  expect((await one.query(text)).rows).toHaveLength(1);
  const second = other.query(text);
  const waiting = () =>
    world.sql("select 1 from pg_stat_activity where wait_event_type = 'Lock' and query = $1", [text]);
  await expect.poll(waiting, { timeout: 20_000 }).toHaveLength(1);
  await one.query("commit");
  expect((await second).rows).toHaveLength(0);
});

test("a plain insert wakes a worker that waits for its bucket, and no other", async () => {
  const world = await setup();
  await world.queue("inbox", { order: "key", buckets: 4 });
  const listener = await world.client();
  const heard: unknown[] = [];
  listener.on("notification", ({ payload }) => heard.push(payload));
  const [key] = await world.sql<{ bucket: number; channel: string }>(
    "select leasehold.bucket_of('k', 4) as bucket, leasehold.worker_channel('w') as channel",
  );
  const wish = "0000"
    .split("")
    .map((_, bucket) => (bucket === key?.bucket ? "1" : "0"))
    .join("");
  await world.sql(
    "insert into leasehold.workers (id, wake_wish) values ('w', jsonb_build_object('inbox', $1::text))",
    [wish],
  );
  await listener.query(`listen ${key?.channel}`);
  await world.sql("insert into leasehold.inbox (payload, partition_key) values ('1', 'k')");
  await expect.poll(() => heard, { timeout: 20_000 }).toEqual([`inbox:${key?.bucket}`]);
  await world.sql(
    "insert into leasehold.inbox (payload, partition_key, available_at) values ('1', 'k', now() + interval '1 day')",
  );
  await world.sql(
    "insert into leasehold.inbox (payload, partition_key) select '1', k from (select 'k' || n as k from generate_series(1, 50) n) s where leasehold.bucket_of(k, 4) <> $1",
    [key?.bucket],
  );
  await listener.query("select 1"); // what was notified before has arrived with the answer
  expect(heard).toHaveLength(1);
});

test("in a strict queue a plain insert waits for the key's other transactions before it draws its place", async () => {
  const world = await setup();
  await world.queue("inbox", { order: "key", strict: true });
  const [one, other] = [await world.client(), await world.client()];
  const insert = (payload: number) =>
    `insert into ${world.schema}.inbox (payload, partition_key) values ('${payload}', 'k')`;
  await one.query("begin");
  await one.query(insert(1));
  const second = other.query(insert(2));
  const waiting = () =>
    world.sql("select 1 from pg_stat_activity where wait_event = 'advisory' and query = $1", [insert(2)]);
  await expect.poll(waiting, { timeout: 20_000 }).toHaveLength(1);
  await one.query("commit");
  await second;
  expect((await rows(world)).map((row) => row.payload)).toEqual([1, 2]);
});

test("a producer's role may insert, and can set neither place, state, nor lease", async () => {
  const world = await setup();
  await world.queue();
  await world.lh.grant();
  const names = ["producer", "worker", "viewer", "operator"]
    .map((role) => `${world.schema}_${role}`)
    .join(", ");
  onTestFinished(async () => void (await world.sql(`drop owned by ${names}; drop role ${names}`)));
  const client = await world.client();
  await client.query(`set role ${world.schema}_producer`);
  const insert = (columns: string, values: string) =>
    client
      .query(
        `insert into ${world.schema}.inbox (payload, ${columns}) values ('1', ${values}) on conflict do nothing`,
      )
      .then(
        ({ rowCount }) => rowCount,
        (error: { code: string }) => error.code,
      );
  expect(await insert("partition_key, idempotency_key", "'k', 'i'")).toBe(1);
  expect(await insert("partition_key, idempotency_key", "'k', 'i'")).toBe(0);
  const closed = {
    seq: "1",
    status: "'processing'",
    lease_generation: "9",
    claimed_by: "'w'",
    attempts: "3",
    created_at: "now()",
  };
  for (const [column, value] of Object.entries(closed))
    expect(await insert(column, value), column).toBe("42501");
  expect(await client.query(`select payload from ${world.schema}.inbox`).catch((error) => error.code)).toBe(
    "42501",
  );
});

test("every way in has its transaction id before it draws a place", async () => {
  const world = await setup();
  await world.queue();
  for (const text of [
    `select * from ${world.schema}.enqueue('{"kind": "step"}')`,
    `insert into ${world.schema}.inbox (payload) values ('1')`,
  ]) {
    const client = await world.client();
    await client.query("begin");
    await client.query("savepoint empty");
    expect((await client.query("select pg_current_xact_id_if_assigned() as xid")).rows).toEqual([
      { xid: null },
    ]);
    await world.sql("select setval('leasehold.inbox_seq', 9223372036854775807)"); // the draw fails, and shows what came before it
    await expect(client.query(text)).rejects.toMatchObject({ code: "2200H" });
    await client.query("rollback to savepoint empty");
    expect(
      (await client.query("select pg_current_xact_id_if_assigned() is not null as has_xid")).rows,
    ).toEqual([{ has_xid: true }]);
    await client.query("rollback");
  }
});
