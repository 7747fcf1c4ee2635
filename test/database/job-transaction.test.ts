import { expect, test } from "vitest";
import { type ClaimedJob, LeaseLostError, type Tx } from "../../src/index.js";
import { openQueues, openTransaction, takenOver, untilBlockedBy, wholeRow } from "../support/claims.js";
import { seeded, setup, type World } from "../support/world.js";

/** A table of the user's in the same database: one line for each time a receipt was booked. */
async function createBookings(world: World): Promise<void> {
  await world.sql("create table leasehold.bookings (job uuid, worker text)");
}

async function bookings(world: World): Promise<unknown[]> {
  return await world.sql("select job, worker from leasehold.bookings order by job, worker");
}

const book = (world: World, job: ClaimedJob) => (tx: Tx) =>
  tx.query(`insert into ${world.schema}.bookings values ($1, $2)`, [job.id, job.workerId]);

test("the effect and the completion become visible in one commit", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await createBookings(world);
  await inbox.enqueue("receipt.send", 1);
  const [job] = await inbox.claim({ workerId: "w1" });
  const answer = await job!.transaction(async (tx) => {
    await book(world, job!)(tx);
    expect(await bookings(world)).toEqual([]);
    expect(await inbox.get(job!.id)).toMatchObject({ status: "processing" });
    return "booked";
  });
  expect(answer).toBe("booked");
  expect(await bookings(world)).toEqual([{ job: job!.id, worker: "w1" }]);
  expect(await inbox.get(job!.id)).toMatchObject({ status: "completed", claimedBy: "w1" });
  const [xids] = await world.sql(
    `select b.xmin::text = a.xmin::text as "isSame" from leasehold.bookings b, leasehold.inbox_archive a`,
  );
  expect(xids).toEqual({ isSame: true });
});

test("with a lost lease both roll back and LeaseLostError is thrown", async () => {
  const { world, stale, current } = await takenOver();
  await createBookings(world);
  const before = await wholeRow(world, stale.id);
  const lost: string[] = [];
  world.lh.on("lease:lost", (event) => lost.push(event.id));
  const error: unknown = await stale.transaction(book(world, stale)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(LeaseLostError);
  expect(error).toMatchObject({ code: "LH_LEASE_LOST", jobId: stale.id });
  expect(await bookings(world)).toEqual([]);
  expect(await wholeRow(world, stale.id)).toBe(before);

  await current.transaction(book(world, current));
  await expect(stale.transaction(book(world, stale))).rejects.toMatchObject({ code: "LH_LEASE_LOST" });
  const again = current.transaction(book(world, current));
  await expect(again).rejects.toMatchObject({ code: "LH_ALREADY_COMPLETED" });
  expect(await bookings(world)).toEqual([{ job: current.id, worker: "w2" }]);
});

test("the naive way, an effect in a commit of its own, happens twice", async () => {
  const { world, here, there, stale, current } = await takenOver();
  await createBookings(world);
  await world.lh.transaction(book(world, stale));
  expect(await here.complete(stale)).toBe(false);
  await world.lh.transaction(book(world, current));
  expect(await there.complete(current)).toBe(true);
  expect(await bookings(world)).toHaveLength(2);
});

test("a handler that throws rolls its effect back and leaves the job claimed", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await createBookings(world);
  await inbox.enqueue("receipt.send", 1);
  const [job] = await inbox.claim({ workerId: "w1" });
  const before = await wholeRow(world, job!.id);
  const failing = job!.transaction(async (tx) => {
    await book(world, job!)(tx);
    throw new Error("smtp said no");
  });
  await expect(failing).rejects.toThrow("smtp said no");
  await expect(job!.transaction((tx) => tx.query("select 1 / 0"))).rejects.toThrow("division by zero");
  expect(await bookings(world)).toEqual([]);
  expect(await wholeRow(world, job!.id)).toBe(before);
  expect(await inbox.fail(job!, new Error("smtp said no"))).toBe(true);
});

test("a takeover that starts while the completion is uncommitted leaves the row alone", async () => {
  const world = await setup();
  const [here, there] = await openQueues(world, 2);
  await createBookings(world);
  await world.sql("create table leasehold.gate (n int primary key)");
  await here!.enqueue("receipt.send", 1);
  const [job] = await here!.claim({ workerId: "w1" });
  // The archive waits at the gate: its row is written, and the queue's row deleted, in a transaction that can't commit yet.
  await world.sql(`create function leasehold.wait() returns trigger language plpgsql as
    'begin insert into ${world.schema}.gate values (1); return new; end'`);
  await world.sql(
    "create trigger gate before insert on leasehold.inbox_archive for each row execute function leasehold.wait()",
  );
  const gatekeeper = await openTransaction(world);
  await gatekeeper.tx.query(`insert into ${world.schema}.gate values (1)`);
  const running = job!.transaction(book(world, job!));
  await untilBlockedBy(world, gatekeeper.pid);
  await world.sql("insert into leasehold.workers (id, status) values ('w1', 'dead')");
  expect(await there!.claim({ workerId: "w2" })).toEqual([]);
  await gatekeeper.rollback();
  await running;
  expect(await there!.claim({ workerId: "w2" })).toEqual([]);
  expect(await bookings(world)).toEqual([{ job: job!.id, worker: "w1" }]);
});

test("of a worker given up for dead and its successor, one books each receipt, whoever is faster", async () => {
  const world = await setup();
  const [here, there] = await openQueues(world, 2);
  await createBookings(world);
  const random = seeded(5);
  const pause = async (rounds: number) => {
    for (let i = 0; i < rounds; i++) await world.sql("select 1");
  };
  const ids: string[] = [];
  let lost = 0;
  for (let round = 0; round < 60; round++) {
    ids.push((await here!.enqueue("receipt.send", round, { partitionKey: "order:9182" })).id);
    const [held] = await here!.claim({ workerId: `w1-${round}` });
    await world.sql("insert into leasehold.workers (id, status) values ($1, 'dead')", [`w1-${round}`]);
    // One round in three is as good as lost, one as good as won, one is open.
    const during = round % 3 === 0 ? 20 : Math.floor(random() * 4);
    const before = round % 3 === 1 ? 20 : Math.floor(random() * 4);
    const stale = held!.transaction(async (tx) => {
      await book(world, held!)(tx);
      await pause(during);
    });
    const successor = pause(before).then(async () => {
      for (const job of await there!.claim({ workerId: "w2" })) await job.transaction(book(world, job));
    });
    const [result] = await Promise.allSettled([stale, successor.then(() => "done")]);
    if (result.status === "rejected") lost += 1;
    await successor;
  }
  expect(await world.sql("select job from leasehold.bookings order by job")).toEqual(
    ids.sort().map((job) => ({ job })),
  );
  expect(lost).toBeGreaterThan(0);
  expect(lost).toBeLessThan(60);
});
