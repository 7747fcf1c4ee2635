import { expect, test } from "vitest";
import { StaleFenceError } from "../../src/index.js";
import { drain, openQueues, openTransaction, takenOver, untilBlockedBy } from "../support/claims.js";
import { seeded, settableClock, setup } from "../support/world.js";

const order = { partitionKey: "order:9182" };

test("tokens rise along a key, over its rows and their attempts", async () => {
  const [here, there] = await openQueues(await setup(), 2);
  await here!.enqueueMany([1, 2, 3].map((n) => ({ kind: "step", payload: n, ...order })));
  const tokens: bigint[] = [];
  for (const queue of [here!, there!, here!]) {
    const [job] = await queue.claim({ workerId: "w1", limit: 1 });
    tokens.push(job!.fenceToken);
    await queue.release(job!);
    const [again] = await queue.claim({ workerId: "w2", limit: 1 });
    expect(again!.id).toBe(job!.id);
    tokens.push(again!.fenceToken);
    await queue.complete(again!);
  }
  expect(tokens).toHaveLength(6);
  expect(tokens.every((token, i) => i === 0 || token > tokens[i - 1]!)).toBe(true);
});

test("the rows of one claim share a token, and the fence lets an equal one through", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2].map((n) => ({ kind: "step", payload: n, ...order })));
  const [first, second] = await inbox.claim({ workerId: "w1" });
  expect(second!.fenceToken).toBe(first!.fenceToken);
  for (const job of [first!, second!, first!]) {
    await world.lh.transaction((tx) => world.lh.fence(tx, "order:9182", job.fenceToken));
  }
});

test("a zombie is refused after a later row of its key ran", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const [here, there] = await openQueues(world, 2, { order: "key", maxCrashes: 1 });
  await here!.enqueueMany([1, 2].map((n) => ({ kind: "step", payload: n, ...order })));
  const [zombie] = await here!.claim({ workerId: "w1", limit: 1, leaseMs: 1_000 });
  clock.advance(1_000);
  const [later] = await there!.claim({ workerId: "w2" });
  expect(later).toMatchObject({ payload: 2 });
  await world.sql("create table leasehold.balance (n int)");
  const write = (token: bigint, n: number) =>
    world.lh.transaction(async (tx) => {
      await world.lh.fence(tx, "order:9182", token);
      await tx.query(`insert into ${world.schema}.balance values ($1)`, [n]);
    });
  await write(later!.fenceToken, 2);
  const refused = await write(zombie!.fenceToken, 1).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StaleFenceError);
  expect(refused).toMatchObject({ code: "LH_STALE_FENCE", resource: "order:9182" });
  expect(await world.sql("select n from leasehold.balance")).toEqual([{ n: 2 }]);
  await world.lh.transaction((tx) => world.lh.fence(tx, "order:1", zombie!.fenceToken));
});

test("without the fence the write of a zombie goes through", async () => {
  const { world, stale, current } = await takenOver();
  await world.sql("create table leasehold.balance (token bigint)");
  const write = `insert into ${world.schema}.balance values ($1)`;
  for (const job of [current, stale])
    await world.lh.transaction((tx) => tx.query(write, [String(job.fenceToken)]));
  expect(await world.sql("select 1 from leasehold.balance")).toHaveLength(2);
});

test("a fence rolls back with its transaction", async () => {
  const world = await setup();
  const higher = await openTransaction(world);
  await world.lh.fence(higher.tx, "order:9182", 9n);
  const lower = world.lh.transaction((tx) => world.lh.fence(tx, "order:9182", 5n));
  expect(await untilBlockedBy(world, higher.pid)).toEqual(["transactionid"]);
  await higher.rollback();
  await lower;
  expect(await world.sql("select token from leasehold.fences")).toEqual([{ token: "5" }]);
});

test("a lower token that waits for a higher one is refused when that commits", async () => {
  const world = await setup();
  await world.lh.transaction((tx) => world.lh.fence(tx, "order:9182", 1n));
  const higher = await openTransaction(world);
  await world.lh.fence(higher.tx, "order:9182", 9n);
  const lower = world.lh.transaction((tx) => world.lh.fence(tx, "order:9182", 5n));
  const refused = expect(lower).rejects.toThrow("has seen token 9; token 5 is older");
  await untilBlockedBy(world, higher.pid);
  await higher.commit();
  await refused;
});

test("once is true for the first transaction that commits, and false afterwards", async () => {
  const world = await setup();
  const ask = (id: string, handler = "mail") => world.lh.transaction((tx) => world.lh.once(tx, handler, id));
  const first = await openTransaction(world);
  expect(await world.lh.once(first.tx, "mail", "m1")).toBe(true);
  const second = ask("m1");
  await untilBlockedBy(world, first.pid);
  await first.rollback();
  expect(await second).toBe(true);
  expect(await ask("m1")).toBe(false);
  expect(await ask("m1", "ledger")).toBe(true);

  const answers = await Promise.all(Array.from({ length: 8 }, () => ask("m2")));
  expect(answers.filter((isFirst) => isFirst)).toHaveLength(1);
});

test("a claim that began earlier but came to the key later has the higher token", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2].map((n) => ({ kind: "step", payload: n, ...order })));
  // Claims of the slow connection stop at a gate before they lock anything.
  await world.sql("create table leasehold.gate ()");
  await world.sql(`create or replace function leasehold.lock_class(p_table regclass) returns int language plpgsql as $$
    begin
      if current_setting('application_name') = 'slow' then perform 1 from leasehold.gate; end if;
      return (p_table::oid::bigint - 2147483648)::int;
    end $$`);
  const gatekeeper = await openTransaction(world);
  await gatekeeper.tx.query(`lock table ${world.schema}.gate in access exclusive mode`);
  const url = new URL(world.url);
  url.searchParams.set("application_name", "slow");
  const slow = await world.connect({ url: url.href });
  const claiming = (await slow.queue("inbox")).claim({ workerId: "w1", limit: 1 });
  await untilBlockedBy(world, gatekeeper.pid);

  const [first] = await inbox.claim({ workerId: "w2", limit: 1 });
  expect(await inbox.complete(first!)).toBe(true);
  await gatekeeper.rollback();
  const [second] = await claiming;
  expect(second).toMatchObject({ payload: 2 });
  expect(second!.fenceToken).toBeGreaterThan(first!.fenceToken);
});

test("eight claimers of one key draw tokens in the order of its rows", async () => {
  const world = await setup();
  const queues = await openQueues(world, 8, { order: "key", buckets: 1_024 });
  await queues[0]!.enqueueMany(
    Array.from({ length: 250 }, (_, n) => ({ kind: "step", payload: n, ...order })),
  );
  const [row] = await world.sql<{ bucket: number }>(
    "select partition_bucket as bucket from leasehold.inbox limit 1",
  );
  const random = seeded(3);
  const claims: { readonly payloads: readonly unknown[]; readonly token: bigint }[] = [];
  await drain(queues, {
    rows: 250,
    // Claims of all buckets are under way for longer, and quick claims of the one bucket overtake them.
    claim: () => ({
      limit: 1 + Math.floor(random() * 3),
      ...(random() < 0.5 && { buckets: [row!.bucket] }),
    }),
    work: (jobs) => {
      expect(new Set(jobs.map((job) => job.fenceToken)).size).toBe(1);
      claims.push({ payloads: jobs.map((job) => job.payload), token: jobs[0]!.fenceToken });
    },
  });
  expect(claims.flatMap((claim) => claim.payloads)).toEqual(Array.from({ length: 250 }, (_, n) => n));
  expect(claims.every((claim, i) => i === 0 || claim.token > claims[i - 1]!.token)).toBe(true);
});
