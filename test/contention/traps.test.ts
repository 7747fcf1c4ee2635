import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** Each of these caught an earlier, plausible form of the claim. */

const steps = (count: number, partitionKey = "order:9182") =>
  Array.from({ length: count }, (_, i) => ({ kind: "step", payload: i + 1, partitionKey }));
const payloads = (jobs: readonly { readonly payload: unknown }[]) => jobs.map((job) => job.payload);

test("a run ends at the first row that is not pending, and a key in process is left alone", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(steps(7));
  const held = await inbox.claim({ workerId: "a", limit: 4 });
  // A retry gives the rest of its run back with it; somebody at psql may not.
  const row = `update ${world.schema}.inbox set status = 'pending', claimed_by = null where id = $1`;
  await world.sql(row, [held[0]!.id]);
  expect(await inbox.claim({ workerId: "b" })).toEqual([]);
  await inbox.settle(held.slice(1).map((job) => ({ job, outcome: { is: "release" } })));
  expect(payloads(await inbox.claim({ workerId: "b" }))).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test("a row in backoff ends the run, and the rows behind it wait", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(steps(3));
  const [first, second, third] = await inbox.claim({ workerId: "a" });
  await inbox.settle([
    { job: first!, outcome: { is: "release" } },
    { job: second!, outcome: { is: "retry", error: "later", delayMs: 3_600_000 } },
    { job: third!, outcome: { is: "release" } },
  ]);
  const run = await inbox.claim({ workerId: "b" });
  expect(payloads(run)).toEqual([1]);
  await inbox.complete(run[0]!);
  expect(await inbox.claim({ workerId: "b" })).toEqual([]);
});

test("a row that somebody has locked cuts the run before it, and the claim does not wait", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(steps(4));
  const holder = await world.client();
  await holder.query("begin");
  await holder.query(`select 1 from ${world.schema}.inbox where payload = '3' for update`);
  expect(payloads(await inbox.claim({ workerId: "b" }))).toEqual([1, 2]);
  await holder.query("rollback");
});

test.each([1, 60])("%i rows that commit late below a row in process wait for it", async (late) => {
  const world = await setup();
  const inbox = await world.queue();
  const slow = await world.client();
  await slow.query("begin");
  await inbox.enqueueMany(steps(late), { tx: slow });
  await inbox.enqueue("step", "quick", { partitionKey: "order:9182" });
  const [quick] = await inbox.claim({ workerId: "a" });
  expect(quick?.payload).toBe("quick");
  await slow.query("commit");
  expect(await inbox.claim({ workerId: "b" })).toEqual([]);
  await inbox.complete(quick!);
  expect(payloads(await inbox.claim({ workerId: "b" }))[0]).toBe(1);
});

test("a row that commits late while a claim above it has not committed yet waits for that claim", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const slow = await world.client();
  await slow.query("begin");
  await inbox.enqueue("step", "late", { partitionKey: "order:9182", tx: slow });
  await inbox.enqueue("step", "quick", { partitionKey: "order:9182" });
  const claiming = await world.client();
  await claiming.query("begin");
  const { rows } = await claiming.query(
    `select id, payload from ${world.schema}.inbox_claim('a', array(select generate_series(0, 359)), null, 5, 5, 5, 1, 60000, null, null) where id is not null`,
  );
  expect(rows).toMatchObject([{ payload: "quick" }]);
  await slow.query("commit");
  expect(await inbox.claim({ workerId: "b" })).toEqual([]);
  await claiming.query("commit");
  expect(await inbox.claim({ workerId: "b" })).toEqual([]);
  await inbox.complete({
    id: rows[0].id,
    workerId: "a",
    fenceToken: BigInt((await inbox.get(rows[0].id))!.fenceToken),
  });
  expect(payloads(await inbox.claim({ workerId: "b" }))).toEqual(["late"]);
});

test("rows that commit late below the run of a hot key wait for it, and come first afterwards", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(steps(100));
  const slow = await world.client();
  await slow.query("begin");
  await inbox.enqueueMany(
    Array.from({ length: 50 }, (_, i) => ({
      kind: "late",
      payload: `late ${i}`,
      partitionKey: "order:9182",
    })),
    { tx: slow },
  );
  await inbox.enqueueMany(steps(100));
  for (let i = 0; i < 5; i++) {
    const run = await inbox.claim({ workerId: "a", limit: 20 });
    await inbox.settle(run.map((job) => ({ job, outcome: { is: "complete" } })));
  }
  const held = await inbox.claim({ workerId: "a", limit: 20 });
  expect(payloads(held)[0]).toBe(1);
  await slow.query("commit");
  expect(await inbox.claim({ workerId: "b" })).toEqual([]);
  await inbox.settle(held.map((job) => ({ job, outcome: { is: "complete" } })));
  expect(payloads(await inbox.claim({ workerId: "b" }))[0]).toBe("late 0");
});

test("a lost row far behind late ones is given back although the head is pending", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const slow = await world.client();
  await slow.query("begin");
  await inbox.enqueueMany(steps(60), { tx: slow });
  await inbox.enqueue("step", "quick", { partitionKey: "order:9182" });
  await inbox.claim({ workerId: "a", leaseMs: 60_000 });
  await slow.query("commit");
  await world.sql("insert into leasehold.workers (id, status) values ('a', 'dead')");
  const run = await inbox.claim({ workerId: "b" });
  expect(payloads(run)[0]).toBe(1);
  expect(
    await world.sql("select payload, attempts, crashes from leasehold.inbox where payload = '\"quick\"'"),
  ).toEqual([{ payload: "quick", attempts: 1, crashes: 1 }]);
});

test("a redriven row does not run beside a row of its key that is in process", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([
    { kind: "step", payload: 1, partitionKey: "k", maxAttempts: 1 },
    ...steps(2, "k"),
  ]);
  const [first] = await inbox.claim({ workerId: "a", limit: 1 });
  await inbox.fail(first!, new Error("no"));
  const [second] = await inbox.claim({ workerId: "a", limit: 1 });
  expect(await inbox.retry()).toBe(1);
  expect(await inbox.claim({ workerId: "b" })).toEqual([]);
  await inbox.complete(second!);
  expect(payloads(await inbox.claim({ workerId: "b" }))).toEqual([2, 1]);
});

test("all rows of one claim share one token, and later claims have higher ones", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(
    Array.from({ length: 300 }, (_, i) => ({ kind: "s", payload: i, partitionKey: `k${i % 30}` })),
  );
  const first = await inbox.claim({ workerId: "a", limit: 100 });
  const second = await inbox.claim({ workerId: "a", limit: 100 });
  const tokens = [new Set(first.map((job) => job.fenceToken)), new Set(second.map((job) => job.fenceToken))];
  expect(tokens.map((set) => set.size)).toEqual([1, 1]);
  expect([...tokens[1]!][0]).toBeGreaterThan([...tokens[0]!][0]!);
});

test("a renewal does not wait for a row that is just being settled, and does not call it lost", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(Array.from({ length: 50 }, (_, i) => ({ kind: "s", payload: i })));
  const jobs = await inbox.claim({ workerId: "a", limit: 50 });
  const holder = await world.client();
  await holder.query("begin");
  await holder.query(`select 1 from ${world.schema}.inbox where id = $1 for update`, [jobs[7]!.id]);
  const states = await Promise.all(jobs.map((job) => inbox.renew(job).then((renewal) => renewal.state)));
  expect(states.filter((state) => state === "renewed")).toHaveLength(49);
  expect(states[7]).toBe("busy");
  await holder.query("rollback");
});

test("a strict enqueue of 40 000 keys in one transaction needs no more than 1024 locks", async () => {
  const world = await setup();
  const inbox = await world.queue("ordered", { order: "key", strict: true });
  await world.lh.transaction(async (tx) => {
    for (let chunk = 0; chunk < 40; chunk++) {
      const jobs = Array.from({ length: 1_000 }, (_, i) => ({
        kind: "s",
        payload: i,
        partitionKey: `k${chunk}-${i}`,
      }));
      await inbox.enqueueMany(jobs, { tx });
    }
    const { rows } = await tx.query(
      "select count(*)::int as n from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
    );
    expect((rows[0] as { n: number }).n).toBeLessThanOrEqual(1_024);
  });
  expect((await inbox.stats()).pending).toBe(40_000);
});

test("a claim inside a transaction with an older snapshot is refused with advice", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("s", 1);
  const client = await world.client();
  await client.query("begin isolation level repeatable read");
  const call = client.query(
    `select * from ${world.schema}.inbox_claim('a', '{0}', null, 1, 1, 1, 1, 1000, null, null)`,
  );
  await expect(call).rejects.toThrow(/read committed/);
});
