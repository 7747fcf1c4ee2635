import { describe, expect, test } from "vitest";
import type { QueueOptions } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

const late = "now() - interval '5 minutes'";

/** The rules that are broken, of the only queue there is. */
async function broken(world: World): Promise<string[]> {
  const { breaches } = await world.lh.audit();
  return breaches.map((breach) => breach.rule).sort();
}

/** A queue with rows in every state that a healthy one has, all in process under worker a. */
async function healthy(options: QueueOptions = { order: "key" }): Promise<World> {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue("inbox", options);
  await world.sql(
    `insert into leasehold.workers (id, queues, started_at) values ('a', '{inbox}', ${late}), ('b', '{inbox}', ${late})`,
  );
  for (const partitionKey of ["k1", "k1", "k2", "k2", "k3"]) await inbox.enqueue("work", 1, { partitionKey });
  await inbox.enqueue("work", 1, { partitionKey: "later", delayMs: 60_000 });
  for (const partitionKey of ["dead", "done"]) await inbox.enqueue("work", 1, { partitionKey });
  const jobs = await inbox.claim({ workerId: "a", limit: 100, run: 1 });
  for (const job of jobs) {
    if (job.partitionKey === "dead")
      for (let n = 0; n < 1; n++) await inbox.settle([{ job, outcome: { is: "dead_letter", error: "no" } }]);
    if (job.partitionKey === "done") await inbox.complete(job);
    if (job.partitionKey === "k3") await inbox.fail(job, new Error("again"));
  }
  return world;
}

test("a healthy queue of either order breaks no rule, and the report names the queues it looked at", async () => {
  for (const order of ["key", "none"] as const) {
    const world = await healthy({ order });
    const report = await world.lh.audit();
    expect(report.breaches).toEqual([]);
    expect(report.queues).toEqual(["inbox"]);
    expect(report.tookMs).toBeGreaterThan(0);
  }
  const parked = await healthy({ order: "key", onDeadLetter: "park", strict: true });
  expect(await broken(parked)).toEqual([]);
});

test.each([
  ["holder", "update leasehold.inbox set claimed_by = null where status = 'processing'"],
  ["holder", "update leasehold.inbox set claimed_by = 'a' where status = 'pending'"],
  ["attempts", "update leasehold.inbox set attempts = 13 where status = 'pending'"],
  ["attempts", "update leasehold.inbox set attempts = 1, crashes = 2 where status = 'pending'"],
  ["finished", "update leasehold.inbox set finished_at = now() where status = 'pending'"],
  ["finished", "update leasehold.inbox set finished_at = null where status = 'dead_letter'"],
  ["token", "alter sequence leasehold.lease_tokens restart with 1"],
  ["expired", `update leasehold.inbox set lease_expires_at = ${late} where status = 'processing'`],
  ["dead holder", `update leasehold.workers set status = 'dead', last_seen_at = ${late} where id = 'a'`],
  [
    "two lives",
    `insert into leasehold.inbox (id, kind, partition_key, payload) select id, kind, 'another', payload from leasehold.inbox_archive`,
  ],
  [
    "two holders",
    "update leasehold.inbox set status = 'processing', claimed_by = 'b', lease_expires_at = now() + interval '1 minute' where partition_key = 'k1' and status = 'pending'",
  ],
])("a broken rule is found: %s", async (rule, sql) => {
  const world = await healthy();
  await world.sql(sql);
  const found = await broken(world);
  expect(found).toContain(rule);
  expect(found.filter((one) => one !== rule)).toEqual([]);
});

test("in a strict queue a row that was overtaken is named, with what is in process", async () => {
  const world = await healthy({ order: "key", strict: true });
  await world.sql(
    `with turned as (update leasehold.inbox set status = 'pending', claimed_by = null, lease_expires_at = null, claimed_at = null where partition_key = 'k1' and status = 'processing')
     update leasehold.inbox set status = 'processing', claimed_by = 'a', lease_expires_at = now() + interval '1 minute' where partition_key = 'k1' and status = 'pending'`,
  );
  const { breaches } = await world.lh.audit();
  expect(breaches).toMatchObject([{ queue: "inbox", rule: "overtaken", count: 1 }]);
  expect(breaches[0]?.meaning).toMatch(/strict/);
  expect(breaches[0]?.rows).toMatchObject([
    { partitionKey: "k1", detail: expect.stringMatching(/while #\d+ of its key is in process by a/) },
  ]);
});

test("of many rows that break a rule the first are named and all are counted", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(Array.from({ length: 50 }, (_, n) => ({ kind: "work", payload: n })));
  await world.sql("update leasehold.inbox set attempts = 13");
  const { breaches } = await world.lh.audit();
  expect(breaches).toMatchObject([{ rule: "attempts", count: 50 }]);
  expect(breaches[0]?.rows).toHaveLength(20);
});

test("without a worker that could, nobody is blamed for what was not taken over; and a paused queue rests", async () => {
  const world = await healthy();
  await world.sql(`update leasehold.inbox set lease_expires_at = ${late} where status = 'processing'`);
  await (await world.queue()).pause();
  expect(await broken(world)).toEqual([]);
  await (await world.queue()).resume();
  await world.sql("update leasehold.workers set queues = '{}'");
  expect(await broken(world)).toEqual([]);
});

describe("a row that is due and not claimed", () => {
  const age = `update leasehold.inbox set available_at = ${late}`;
  const idle = (id: string, ms: number): string =>
    `update leasehold.workers set metadata = '{"leasehold": {"idleMs": {"inbox": ${ms}}}}' where id = '${id}'`;

  /** Rows that have been due for minutes in one bucket, and the workers a and b. */
  async function waiting(order: "key" | "none"): Promise<World> {
    const world = await setup();
    const inbox = await world.queue("inbox", { order, buckets: 1 });
    for (let n = 0; n < 3; n++) await inbox.enqueue("work", n, { partitionKey: "k" });
    await world.sql(age);
    await world.sql("insert into leasehold.workers (id, queues) values ('a', '{inbox}'), ('b', '{inbox}')");
    return world;
  }

  test.each(["key", "none"] as const)(
    "is told when its owner has been idle for a minute (order %s)",
    async (order) => {
      const world = await waiting(order);
      const owner = (await world.lh.ring("inbox")).owners[0] ?? "";
      const other = owner === "a" ? "b" : "a";
      expect(await broken(world)).toEqual([]); // It does not say.
      await world.sql(idle(other, 90_000));
      await world.sql(idle(owner, 59_000));
      expect(await broken(world)).toEqual([]);
      await world.sql(idle(owner, 61_000));
      const { breaches } = await world.lh.audit();
      const detail = `in bucket 0: ${owner} owns it, has room, and has claimed nothing for 61 s`;
      expect(breaches).toMatchObject([{ rule: "unclaimed", count: 1, rows: [{ detail }] }]);
      await world.sql("update leasehold.queues set paused_at = now()");
      expect(await broken(world)).toEqual([]);
    },
  );

  test("is told while every worker fails", async () => {
    const world = await waiting("key");
    await world.sql(
      `update leasehold.workers set failing = '{"inbox": {"what": "claim", "reason": "no", "since": "2026-01-01"}}'`,
    );
    const { breaches } = await world.lh.audit();
    expect(breaches).toMatchObject([
      { rule: "unclaimed", rows: [{ detail: "in bucket 0: all workers of the queue fail" }] },
    ]);
  });

  test("is not told while it is held up by a row of its key that runs or waits", async () => {
    const world = await waiting("key");
    for (const id of ["a", "b"]) await world.sql(idle(id, 90_000));
    await world.sql(
      "update leasehold.inbox set available_at = now() + interval '1 hour' where payload = '0'",
    );
    expect(await broken(world)).toEqual([]);
  });
});
