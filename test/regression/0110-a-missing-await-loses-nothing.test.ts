import { expect, onTestFinished, test } from "vitest";
import type { WorkingJob } from "../../src/index.js";
import { setup, type World } from "../support/world.js";
import { gate, heard, startWorker, until } from "../worker/worker-world.js";

/** Rejections that nobody handles would end the process. */
function unhandledRejections(): unknown[] {
  const seen: unknown[] = [];
  const note = (reason: unknown): void => void seen.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  return seen;
}

async function prepared(): Promise<{ world: World; book: (job: WorkingJob, n: number) => Promise<unknown> }> {
  const world = await setup({ workerId: "a" });
  await world.queue();
  await world.sql("create table leasehold.bookings (n int)");
  const book = (job: WorkingJob, n: number): Promise<unknown> =>
    job.transaction(async (tx) => {
      await tx.query(`insert into ${world.schema}.bookings values ($1)`, [n]);
      await tx.query("select pg_sleep(0.1)");
    });
  return { world, book };
}

async function bookings(world: World): Promise<number> {
  return (await world.sql("select 1 from leasehold.bookings")).length;
}

test("a handler that returns before its job.transaction has ended is completed by it, and told", async () => {
  const unhandled = unhandledRejections();
  const { world, book } = await prepared();
  const inbox = await world.lh.queue("inbox");
  const told = heard(world.lh, "transaction:unawaited");
  await startWorker(world.lh, {
    sync: (job) => {
      void book(job, 1);
    },
    async: async (job) => {
      void book(job, 2);
    },
    throws: (job) => {
      void book(job, 3);
      throw new Error("while it is open");
    },
  });
  for (const kind of ["sync", "async", "throws"]) {
    const { id } = await inbox.enqueue(kind, 1);
    await until(`${kind} is completed`, async () => (await inbox.get(id))?.status === "completed");
    expect(await inbox.get(id)).toMatchObject({ attempts: 1, errors: [] });
  }
  expect(await bookings(world)).toBe(3);
  await until("each is told", () => told.length === 3);
  expect(told.map(({ kind, isCommitted }) => [kind, isCommitted])).toEqual([
    ["sync", true],
    ["async", true],
    ["throws", true],
  ]);
  expect(unhandled).toEqual([]);
});

test("a transaction that nobody waits for and that fails, fails the attempt with its error", async () => {
  const unhandled = unhandledRejections();
  const { world } = await prepared();
  const inbox = await world.lh.queue("inbox");
  const held = gate();
  const told = heard(world.lh, "transaction:unawaited");
  let failed = 0;
  const fail = (job: WorkingJob): Promise<unknown> =>
    job.transaction(async (tx) => {
      await tx.query(`insert into ${world.schema}.bookings values (1)`);
      await tx.query("select 1/0").finally(() => failed++);
    });
  await startWorker(world.lh, {
    // Fails after the handler has returned.
    late: (job) => {
      void fail(job);
    },
    // Fails while the handler is still at work.
    early: async (job) => {
      void fail(job);
      await held.passed;
    },
  });
  const dead = heard(world.lh, "job:dead_lettered");
  const failures = heard(world.lh, "job:failed");
  const { id: late } = await inbox.enqueue("late", 1, { maxAttempts: 1 });
  await until("it is a dead letter", () => dead.length === 1);
  const { id: early } = await inbox.enqueue("early", 1, { maxAttempts: 1 });
  await until(
    "its transaction has failed",
    async () => failed === 2 && (await openTransactions(world)) === 0,
  );
  held.open();
  await until("it is a dead letter too", () => dead.length === 2);
  for (const id of [late, early]) {
    const record = await inbox.get(id);
    expect(record).toMatchObject({ status: "dead_letter", attempts: 1 });
    expect(record?.lastError).toMatch(/division by zero.*await is missing/);
  }
  expect(failures).toHaveLength(2);
  expect(told.map(({ isCommitted }) => isCommitted)).toEqual([false, false]);
  expect(await bookings(world)).toBe(0);
  expect(unhandled).toEqual([]);
});

/** Transactions that have divided by zero and are not rolled back yet. */
async function openTransactions(world: World): Promise<number> {
  const rows = await world.sql(
    "select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%' and query = 'select 1/0'",
  );
  return rows.length;
}

test("a failed transaction that the handler has caught is the handler's affair", async () => {
  const { world } = await prepared();
  const inbox = await world.lh.queue("inbox");
  await startWorker(world.lh, {
    k: async (job) => {
      await job.transaction((tx) => tx.query("select 1/0")).catch(() => {});
    },
    all: async (job) => {
      await Promise.allSettled([job.transaction((tx) => tx.query("select 1/0"))]);
    },
  });
  for (const kind of ["k", "all"]) {
    const { id } = await inbox.enqueue(kind, 1);
    await until("it is completed", async () => (await inbox.get(id))?.status === "completed");
    expect(await inbox.get(id)).toMatchObject({ attempts: 1, errors: [] });
  }
});
