import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

async function objects(world: World): Promise<unknown[]> {
  return await world.sql(
    `select relname::text as name from pg_class where relnamespace = $1::regnamespace
     union all select oid::regprocedure::text from pg_proc where pronamespace = $1::regnamespace order by 1`,
    [world.schema],
  );
}

test.each(["key", "none"] as const)(
  "a dropped queue with order %s leaves nothing, and its name is free",
  async (order) => {
    const world = await setup();
    await world.lh.queue("other", { order });
    const before = await objects(world);
    const queue = await world.lh.queue("mail", { order });
    await queue.enqueue("send", 1, { idempotencyKey: "a" });
    const [job] = await queue.claim({ workerId: "w" });
    await queue.complete(job!);
    await world.lh.housekeep();
    await world.lh.dropQueue("mail");
    expect(await objects(world)).toEqual(before);
    for (const [table, column] of [
      ["queues", "name"],
      ["dedupe", "queue"],
      ["samples", "queue"],
      ["migrations", "queue"],
    ])
      expect(await world.sql(`select 1 from leasehold.${table} where ${column} = 'mail'`), table).toEqual([]);
    await expect(world.lh.dropQueue("mail")).rejects.toMatchObject({ code: "LH_UNKNOWN_QUEUE" });
    const again = await world.lh.queue("mail", { order });
    expect(await again.enqueue("send", 1, { idempotencyKey: "a" })).toMatchObject({ duplicate: false });
    expect(await again.claim({ workerId: "w" })).toHaveLength(1);
    expect(await world.lh.migrate()).toBe(0);
  },
);

test("a queue with jobs or dead letters is not dropped unless it is forced", async () => {
  const world = await setup();
  const queue = await world.queue("mail");
  await queue.enqueue("send", 1, { maxAttempts: 1 });
  const refused = { code: "LH_QUEUE_IN_USE", workers: [] };
  await expect(world.lh.dropQueue("mail")).rejects.toMatchObject(refused);
  const [job] = await queue.claim({ workerId: "w" });
  await expect(world.lh.dropQueue("mail")).rejects.toMatchObject(refused);
  await queue.fail(job!, new Error("no"));
  await expect(world.lh.dropQueue("mail")).rejects.toMatchObject(refused);
  expect(await queue.list({ status: "dead_letter" })).toHaveLength(1);
  await world.lh.dropQueue("mail", { force: true });
  expect(await world.sql("select 1 from leasehold.queues")).toEqual([]);
});

test("a queue with a live worker is not dropped, and can be when the worker has stopped", async () => {
  const world = await setup({ workerId: "w1" });
  await world.queue("mail");
  const worker = world.lh.worker("mail", { send: async () => {} });
  await worker.start();
  await expect(world.lh.dropQueue("mail")).rejects.toMatchObject({
    code: "LH_QUEUE_IN_USE",
    workers: ["w1"],
  });
  await worker.stop();
  await world.lh.dropQueue("mail");
  expect(await world.sql("select 1 from leasehold.queues")).toEqual([]);
});

test("a job that is being enqueued while the queue is dropped is seen, and refuses the drop", async () => {
  const world = await setup();
  await world.queue("mail");
  const client = await world.client();
  await client.query("begin");
  await client.query(`select * from ${world.schema}.enqueue('{"queue": "mail", "kind": "send"}')`);
  const drop = world.lh.dropQueue("mail").catch((error: unknown) => error);
  const waiting = () =>
    world.sql("select 1 from pg_locks where relation = $1::regclass and not granted", [
      `${world.schema}.mail`,
    ]);
  await expect.poll(waiting, { timeout: 20_000 }).toHaveLength(1);
  await client.query("commit");
  expect(await drop).toMatchObject({ code: "LH_QUEUE_IN_USE" });
});

test("an archive of more days than a transaction may drop is dropped too", async () => {
  const world = await setup();
  await world.lh.queue("mail", { order: "key", retentionMs: 3_650 * 86_400_000 });
  const before = await objects(world);
  expect(before.length).toBeGreaterThan(20);
  for (let nth = 0; nth < 4; nth++)
    await world.sql("select leasehold.make_archive_days('mail', 60, now() - $1 * interval '61 days')", [nth]);
  await world.lh.dropQueue("mail");
  expect(
    await world.sql("select 1 from pg_class where relnamespace = $1::regnamespace and relname like 'mail%'", [
      world.schema,
    ]),
  ).toEqual([]);
  expect(await world.lh.queue("mail", { order: "none" })).toBeDefined();
});

test("retention and window of a queue that is at work are changed for every process at once", async () => {
  const world = await setup();
  const queue = await world.lh.queue("mail", { order: "key", retentionMs: 86_400_000 });
  const elsewhere = await (await world.connect()).queue("mail");
  expect(await queue.change({ retentionMs: 30 * 86_400_000, dedupeWindowMs: 60_000 })).toMatchObject({
    retentionMs: 30 * 86_400_000,
    dedupeWindowMs: 60_000,
    order: "key",
  });
  expect(queue.settings.retentionMs).toBe(30 * 86_400_000);
  await elsewhere.enqueue("send", 1, { idempotencyKey: "a" });
  const [row] = await world.sql<{ window: number }>(
    "select round(extract(epoch from expires_at - now()))::int as window from leasehold.dedupe",
  );
  expect(row?.window).toBeLessThanOrEqual(60);
  await world.sql("select leasehold.make_archive_days('mail', 0, now() - interval '20 days')");
  expect((await world.lh.housekeep()).daysDropped).toBe(0);
  await elsewhere.change({ retentionMs: 86_400_000 });
  expect((await world.lh.housekeep()).daysDropped).toBe(1);
  expect(
    (await world.lh.queue("mail", { retentionMs: 86_400_000, dedupeWindowMs: 60_000 })).settings.retentionMs,
  ).toBe(86_400_000);
});

test("what is fixed when a queue is created is refused by name, and nothing is changed", async () => {
  const world = await setup();
  const queue = await world.queue("mail");
  const fixed = {
    order: "none",
    buckets: 1,
    strict: true,
    onDeadLetter: "park",
    ring: "consistent",
    nothing: 1,
  };
  for (const [option, value] of Object.entries(fixed))
    await expect(queue.change({ retentionMs: 5_000, [option]: value })).rejects.toMatchObject({
      code: "LH_INVALID_OPTION",
      option,
    });
  for (const change of [{ retentionMs: -1 }, { dedupeWindowMs: 0 }, { retentionMs: 0 }])
    await expect(queue.change(change)).rejects.toMatchObject({ code: "LH_INVALID_OPTION" });
  expect((await world.lh.queue("mail")).settings).toEqual(queue.settings);
  await world.lh.dropQueue("mail");
  await expect(queue.change({ retentionMs: 5_000 })).rejects.toMatchObject({ code: "LH_UNKNOWN_QUEUE" });
});
