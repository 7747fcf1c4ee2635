import { expect, onTestFinished, test } from "vitest";
import { NodePostgres } from "../../src/adapters/node-postgres.js";
import { OwnPool } from "../../src/adapters/own-pool.js";
import { createEvents } from "../../src/events.js";
import { defaults } from "../../src/index.js";
import { blackHoleProxy } from "../support/black-hole-proxy.js";
import { setup } from "../support/world.js";
import { startWorker } from "../worker/worker-world.js";

interface Limits {
  readonly statementTimeoutMs?: number;
  readonly transactionStatementTimeoutMs?: number;
}

/** A database with limits of its own; those not given are generous. */
function open(url: string, limits: Limits): NodePostgres {
  const all = {
    ...defaults,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 60_000,
    closeWaitMs: 50,
    transactionAnswerGraceMs: 100,
    ...limits,
  };
  const pool = new OwnPool({ url, ...all, connectionsMax: 3 });
  const database = new NodePostgres(
    pool,
    all,
    createEvents(() => {}),
  );
  onTestFinished(() => database.close());
  return database;
}

const slow = { name: "slow", text: "select 1 as one from pg_sleep(4)", values: [] };

test("a user's statement in a transaction may take longer than ours, and commits", async () => {
  const world = await setup();
  const database = open(world.url, { statementTimeoutMs: 2_000 });
  await expect(database.run(slow)).rejects.toMatchObject({ code: "LH_DATABASE_UNAVAILABLE" });
  const rows = await database.transaction(async (tx) => (await tx.query(slow.text)).rows);
  expect(rows).toEqual([{ one: 1 }]);
});

test("by default lh.transaction sets no limit; transactionStatementTimeoutMs sets one for its statements alone", async () => {
  const world = await setup();
  const show = "select current_setting('statement_timeout') as limit";
  const limited = await world.connect({ transactionStatementTimeoutMs: 1_234_000, connectionsMax: 2 });
  const seen: unknown[] = [];
  for (const lh of [world.lh, limited])
    seen.push(await lh.transaction(async (tx) => (await tx.query(show)).rows[0]));
  expect(seen).toEqual(await world.sql(`select unnest(array['0', '1234s']) as limit`));
  const wrong = world.connect({ transactionStatementTimeoutMs: 0 });
  await expect(wrong).rejects.toMatchObject({ option: "transactionStatementTimeoutMs" });
});

test("a user's statement that reaches his limit fails with the server's own error, in lh.transaction and in job.transaction", async () => {
  const world = await setup();
  await world.sql("create table leasehold.effects (n int)");
  const lh = await world.connect({ transactionStatementTimeoutMs: 300 });
  const inbox = await lh.queue("inbox", { order: "key" });
  const work = async (tx: { query(text: string): Promise<unknown> }): Promise<void> => {
    await tx.query(`insert into ${world.schema}.effects values (1)`);
    await tx.query("select pg_sleep(60)");
  };
  await expect(lh.transaction(work)).rejects.toMatchObject({ code: "57014" });
  let thrown: unknown;
  const ended = new Promise((resolve) => lh.on("job:failed", resolve));
  await startWorker(lh, {
    k: async (job) => {
      try {
        await job.transaction(work);
      } catch (error) {
        thrown = error;
        throw error;
      }
    },
  });
  await inbox.enqueue("k", 1);
  await ended;
  expect(thrown).toMatchObject({ code: "57014" });
  expect(await world.sql("select n from leasehold.effects")).toEqual([]);
});

test("when a limit of ours ends a statement in a transaction, the error says what is true", async () => {
  const world = await setup();
  const database = open(world.url, {});
  const error = await database
    .transaction((tx) => tx.run({ ...slow, timeoutMs: 100 }))
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "LH_DATABASE_UNAVAILABLE", isAmbiguous: false });
  expect((error as Error).message).toBe(
    "No answer came from the database for slow (it took longer than 100 ms). It may have run, but its transaction is not committed; the transaction may be repeated.",
  );
});

test("a user's limit holds also when the connection leads nowhere", async () => {
  const world = await setup();
  const proxy = await blackHoleProxy(world.url);
  onTestFinished(() => proxy.close());
  const database = open(proxy.url, { transactionStatementTimeoutMs: 100 });
  const work = database.transaction(async (tx) => {
    await tx.query("select 1");
    proxy.swallow();
    await tx.query("select 2");
  });
  const error = await work.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "LH_DATABASE_UNAVAILABLE", isAmbiguous: false });
  expect((error as Error).message).toMatch(/longer than 200 ms.*may have run.*not committed/);
});

test("a value that can't be sent is the user's mistake and no lost database; objects of the driver work as before", async () => {
  const world = await setup();
  for (const limits of [{}, { transactionStatementTimeoutMs: 60_000 }]) {
    const database = open(world.url, limits);
    const itself: unknown[] = [];
    itself.push({ itself });
    const wrong = database.transaction(async (tx) => await tx.query("select $1::json", [{ itself }]));
    await expect(wrong).rejects.toBeInstanceOf(TypeError);
    const asObject = { text: "select $1::int", rowMode: "array" } as unknown as string;
    const { rows } = await database.transaction(async (tx) => await tx.query(asObject, [7]));
    expect(rows).toEqual([[7]]);
  }
});
