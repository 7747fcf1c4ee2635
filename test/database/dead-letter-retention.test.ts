import { expect, test } from "vitest";
import { deadLetter, type Queue, type QueueOptions } from "../../src/index.js";
import { settableClock, setup } from "../support/world.js";

const dayMs = 86_400_000;
const key = { partitionKey: "order:9182" };

async function open(options: QueueOptions = { order: "key" }) {
  const clock = settableClock();
  const world = await setup({ clock });
  return { clock, world, inbox: await world.queue("inbox", options) };
}

async function die(inbox: Queue, payload: unknown): Promise<string> {
  const { id } = await inbox.enqueue("step", payload, key);
  const [job] = await inbox.claim({ workerId: "w", limit: 1 });
  expect(job?.id).toBe(id);
  expect(await inbox.fail(job!, deadLetter("no such customer"))).toBe(true);
  return id;
}

test("after 30 days a dead letter leaves the queue for the archive, and is found there", async () => {
  const { clock, world, inbox } = await open();
  const moved: unknown[] = [];
  world.lh.on("dead_letters:archived", (event) => moved.push(event));
  const id = await die(inbox, 1);
  clock.advance(30 * dayMs);
  const young = await die(inbox, 2);
  await world.lh.housekeep();
  expect((await inbox.stats()).deadLetter).toBe(2);
  clock.advance(1);
  await world.lh.housekeep();
  await world.lh.housekeep();
  expect(moved).toEqual([{ queue: "inbox", rows: 1 }]);
  expect((await inbox.stats()).deadLetter).toBe(1);
  expect(await inbox.get(id)).toMatchObject({
    status: "dead_letter",
    attempts: 1,
    finishedAt: clock.databaseNow(),
  });
  const why = await inbox.why(id);
  expect(why).toMatchObject({ reason: "dead_letter", blockedBy: null });
  expect(why.words).toContain(
    "after 1 of 12 attempts: DeadLetter: no such customer. It was moved to the archive at",
  );
  expect((await inbox.list({ status: "dead_letter" })).map((job) => job.id)).toEqual([young, id]);
  expect((await inbox.list({ status: "dead_letter", limit: 1 })).map((job) => job.id)).toEqual([young]);
  expect((await inbox.list({ status: "dead_letter", before: young })).map((job) => job.id)).toEqual([id]);
  expect(await inbox.list({ status: "completed" })).toEqual([]);
});

test("the archive keeps it for its retention, counted from the move", async () => {
  const { clock, world, inbox } = await open({ order: "key", retentionMs: 7 * dayMs });
  const id = await die(inbox, 1);
  clock.advance(30 * dayMs + 1);
  await world.lh.housekeep();
  clock.advance(7 * dayMs);
  await world.lh.housekeep();
  expect(await inbox.get(id)).toMatchObject({ status: "dead_letter" });
  clock.advance(dayMs);
  await world.lh.housekeep();
  expect(await inbox.get(id)).toBeNull();
});

test.each([true, false])(
  "retry with its id brings it back to the end of its line (strict %s)",
  async (strict) => {
    const { clock, world, inbox } = await open({ order: "key", strict });
    const ids = [await die(inbox, 1), await die(inbox, 2)];
    clock.advance(31 * dayMs);
    await world.lh.housekeep();
    const hot = await die(inbox, 3);
    await inbox.enqueue("step", "first", key);
    expect(await inbox.retry()).toBe(1);
    expect(await inbox.retry({ ids })).toBe(2);
    expect(await inbox.retry({ ids })).toBe(0);
    expect(await world.sql("select 1 from leasehold.inbox_archive")).toEqual([]);
    const jobs = await inbox.claim({ workerId: "w" });
    expect(jobs.map((job) => [job.payload, job.attempt])).toEqual([
      ["first", 1],
      [3, 1],
      [1, 1],
      [2, 1],
    ]);
    expect(jobs[1]?.id).toBe(hot);
    for (const job of jobs) expect(await inbox.complete(job)).toBe(true);
    expect(await inbox.list({ status: "dead_letter" })).toEqual([]);
    expect((await world.lh.audit()).breaches).toEqual([]);
  },
);

test("a parked dead letter stays, and 0 keeps all for ever", async () => {
  for (const options of [{ onDeadLetter: "park" }, { deadLetterRetentionMs: 0 }] as const) {
    const { clock, world, inbox } = await open({ order: "key", ...options });
    const id = await die(inbox, 1);
    clock.advance(3_000 * dayMs);
    await world.lh.housekeep();
    expect(await world.sql("select id from leasehold.inbox")).toEqual([{ id }]);
  }
});

test("a queue without an archive deletes it then", async () => {
  const { clock, world, inbox } = await open({ order: "none", retentionMs: 0, deadLetterRetentionMs: dayMs });
  const id = await die(inbox, 1);
  clock.advance(dayMs + 1);
  await world.lh.housekeep();
  expect(await inbox.get(id)).toBeNull();
  expect(await world.sql("select 1 from leasehold.inbox")).toEqual([]);
});

test("2 500 are moved in statements of at most 1 000, and one that is being redriven stays", async () => {
  const { clock, world, inbox } = await open();
  await inbox.enqueueMany(Array.from({ length: 2_500 }, (_, i) => ({ kind: "step", payload: i })));
  await world.sql("update leasehold.inbox set status = 'dead_letter', finished_at = $1, attempts = 5", [
    clock.databaseNow(),
  ]);
  clock.advance(31 * dayMs);
  const other = await world.client();
  await other.query("begin");
  await other.query(`select 1 from ${world.schema}.inbox where payload = '7' for update`);
  await world.lh.housekeep();
  await other.query("commit");
  expect(await inbox.list({ status: "dead_letter", limit: 1_000 })).toHaveLength(1_000);
  expect(await world.sql("select payload from leasehold.inbox")).toEqual([{ payload: 7 }]);
  const [most] = await world.sql<{ n: number }>(
    "select max(m.n)::int as n from (select count(*) as n from leasehold.inbox_archive group by xmin) m",
  );
  expect(most!.n).toBe(1_000);
});

test("an archive of an earlier version takes them after a migration", async () => {
  const { clock, world, inbox } = await open();
  await world.sql(
    `alter table leasehold.inbox_archive drop constraint inbox_archive_status_check,
       add constraint inbox_archive_status_check check (status in ('completed', 'discarded'))`,
  );
  await world.sql("update leasehold.migrations set checksum = 'old' where queue = 'inbox'");
  await world.lh.migrate();
  const id = await die(inbox, 1);
  clock.advance(31 * dayMs);
  await world.lh.housekeep();
  await world.lh.housekeep();
  expect(await world.sql("select 1 from leasehold.inbox")).toEqual([]);
  expect(await inbox.get(id)).toMatchObject({ status: "dead_letter" });
});
