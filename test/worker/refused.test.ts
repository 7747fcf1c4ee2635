import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";
import { untilEmpty, untilStatus } from "./stored-jobs.js";
import { countOf, gate, heard, startWorker, until } from "./worker-world.js";

/** Writes to the queue's table are refused, as on a server that is read-only for a moment, until the test says otherwise. */
async function refuseWrites(world: World): Promise<() => Promise<void>> {
  await world.sql(`create or replace function leasehold.refuse() returns trigger language plpgsql as $$
    begin raise exception 'cannot write now' using errcode = '25006'; end $$`);
  await world.sql(
    `create trigger refuse before update or delete on leasehold.inbox for each row execute function leasehold.refuse()`,
  );
  return async () => {
    await world.sql(`drop trigger refuse on leasehold.inbox`);
  };
}

test("an outcome that the database refuses for a while is written when it no longer does", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const held = gate();
  const runs: string[] = [];
  await startWorker(world.lh, {
    k: async (job) => {
      runs.push(job.id);
      await held.passed;
    },
  });
  const { id } = await inbox.enqueue("k", 1);
  await until("it runs", () => runs.length === 1);
  const allow = await refuseWrites(world);
  held.open();
  await sleep(1_500);
  expect(await countOf(world, "processing")).toBe(1);
  await allow();
  await untilStatus(world, id, "completed");
  expect(runs).toEqual([id]);
});

test("a stop that could not give its rows back leaves them to be taken over at once", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const held = gate();
  const worker = await startWorker(
    world.lh,
    { k: () => held.passed },
    { concurrency: 1, drainLimitMs: 500, abortGraceMs: 100, leaseMs: 600_000 },
  );
  const stopped = heard(world.lh, "worker:stopped");
  await inbox.enqueueMany(Array.from({ length: 10 }, (_, i) => ({ kind: "k", payload: i })));
  await until("rows are in hand", () => worker.load.inHand >= 5);
  const allow = await refuseWrites(world);
  await worker.stop();
  await allow();
  expect(stopped).toEqual([expect.objectContaining({ isClean: false })]);
  expect(await countOf(world, "processing")).toBeGreaterThan(0);
  const second = await world.connect({ workerId: "b" });
  await startWorker(second, { k: () => {} });
  await untilEmpty(world);
});

test("a handler that goes on after job.transaction, past its lease, does not keep its worker from claiming", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const held = gate();
  let isCommitted = false;
  await startWorker(
    world.lh,
    {
      long: async (job) => {
        await job.transaction(async (tx) => void (await tx.query("select 1")));
        isCommitted = true;
        await held.passed;
      },
      k: () => {},
    },
    { leaseMs: 600, concurrency: 4 },
  );
  await inbox.enqueue("long", 1, { partitionKey: "one" });
  await until("it has committed", () => isCommitted);
  await sleep(1_200);
  const { id } = await inbox.enqueue("k", 2, { partitionKey: "two" });
  await untilStatus(world, id, "completed");
});

test("stop() starts nothing more and hands back what waits, however long housekeeping takes", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const held = gate();
  let started = 0;
  const handle = async () => {
    if (++started === 3) await held.passed;
  };
  const worker = await startWorker(world.lh, { k: handle }, { concurrency: 1, housekeepingMs: 100 });
  await inbox.enqueueMany(Array.from({ length: 20 }, (_, i) => ({ kind: "k", payload: i })));
  await until("it works", () => started === 3);
  const client = await world.client();
  await client.query("begin");
  await client.query(`lock table ${world.schema}.dedupe in access exclusive mode`);
  const waiting = "select 1 from pg_locks where relation = 'leasehold.dedupe'::regclass and not granted";
  await until("housekeeping waits", async () => (await world.sql(waiting)).length > 0);
  const stopping = worker.stop();
  await until("the rest is handed back", async () => (await countOf(world, "processing")) === 1);
  held.open();
  await until("what ran is done", async () => (await countOf(world, "processing")) === 0);
  expect(started).toBe(3);
  expect(await countOf(world, "pending")).toBe(17);
  await client.query("rollback");
  await stopping;
});
