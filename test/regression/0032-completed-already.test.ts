import { expect, test } from "vitest";
import type { WorkingJob } from "../../src/index.js";
import { setup, type World } from "../support/world.js";
import { startWorker, until } from "../worker/worker-world.js";

const completed = { name: "AlreadyCompletedError", code: "LH_ALREADY_COMPLETED" };

async function outcome(act: () => Promise<unknown>): Promise<unknown> {
  return await act().catch((error: unknown) => error);
}

async function bookings(world: World): Promise<number> {
  return (await world.sql("select 1 from leasehold.bookings")).length;
}

test("a second job.transaction in a handler says that the job is completed, and writes nothing", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await world.sql("create table leasehold.bookings (n int)");
  const lost: string[] = [];
  world.lh.on("lease:lost", (event) => lost.push(event.id));
  const seen: unknown[] = [];
  const book = (job: WorkingJob, n: number) => () =>
    job.transaction((tx) => tx.query(`insert into ${world.schema}.bookings values ($1)`, [n]));
  await startWorker(world.lh, {
    k: async (job) => {
      await book(job, 1)();
      seen.push(await outcome(book(job, 2)));
      seen.push(await outcome(() => inbox.complete(job)));
      seen.push(await outcome(() => inbox.fail(job, new Error("late"))));
      seen.push(await outcome(() => inbox.settle([{ job, outcome: { is: "release" } }])));
      seen.push(await outcome(() => inbox.renew(job)));
    },
  });
  const { id } = await inbox.enqueue("k", 1);
  await until("the handler has tried all", () => seen.length === 5);
  for (const error of seen) expect(error).toMatchObject({ ...completed, jobId: id });
  expect(await bookings(world)).toBe(1);
  expect(lost).toEqual([]);
  expect(await inbox.get(id)).toMatchObject({ status: "completed", attempts: 1, errors: [] });
});

test("of two transactions of a job at once one commits, and the other says that the job is completed", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await world.sql("create table leasehold.bookings (n int)");
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  const both = await Promise.allSettled(
    [1, 2].map((n) =>
      job!.transaction((tx) => tx.query(`insert into ${world.schema}.bookings values ($1)`, [n])),
    ),
  );
  expect(both.map((one) => one.status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(both.find((one) => one.status === "rejected")?.reason).toMatchObject(completed);
  expect(await bookings(world)).toBe(1);
});

test("a transaction after complete() says so too, with an archive and without", async () => {
  const world = await setup();
  for (const queue of [await world.queue(), await world.queue("brief", { order: "key", retentionMs: 0 })]) {
    await queue.enqueue("k", 1);
    const [job] = await queue.claim({ workerId: "w" });
    expect(await queue.complete(job!)).toBe(true);
    expect(await outcome(() => job!.transaction(async () => 1))).toMatchObject(completed);
  }
});

test("a transaction after fail() or release() is still a lost lease", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  expect(await inbox.release(job!)).toBe(true);
  expect(await outcome(() => job!.transaction(async () => 1))).toMatchObject({ code: "LH_LEASE_LOST" });
  const [again] = await inbox.claim({ workerId: "w" });
  expect(await inbox.fail(again!, new Error("no"))).toBe(true);
  expect(await outcome(() => again!.transaction(async () => 1))).toMatchObject({ code: "LH_LEASE_LOST" });
});
