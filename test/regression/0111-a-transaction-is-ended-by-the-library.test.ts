import { expect, test } from "vitest";
import type { Tx } from "../../src/index.js";
import { setup } from "../support/world.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

const refused = { code: "LH_INVALID_TX", message: expect.stringMatching(/ended the transaction/) };

const endings = [
  "rollback",
  "commit",
  "end",
  "abort",
  "rollback and chain",
  "commit and chain",
  "rollback; begin",
  "ROLLBACK WORK",
  "/* x */ rollback",
] as const;

test.each(endings)(
  "%s within a transaction of ours is refused, and the job is not completed",
  async (statement) => {
    const world = await setup();
    const inbox = await world.queue();
    await world.sql("create table leasehold.bookings (n int)");
    const { id } = await inbox.enqueue("k", 1);
    const [job] = await inbox.claim({ workerId: "w" });
    const seen: unknown[] = [];
    const swallowing = async (tx: Tx): Promise<void> => {
      for (const text of [statement, `insert into ${world.schema}.bookings values (2)`])
        await tx.query(text).catch((error: unknown) => seen.push(error));
    };
    await expect(job!.transaction(swallowing)).rejects.toMatchObject(refused);
    await expect(world.lh.transaction((tx) => tx.query(statement))).rejects.toMatchObject(refused);
    expect(seen).toMatchObject([refused, refused]);
    expect(await world.sql("select n from leasehold.bookings")).toEqual([]);
    expect(await inbox.get(id)).toMatchObject({ status: "processing" });
    expect(await inbox.complete(job!)).toBe(true);
  },
);

test("a prepared transaction is refused too; a prepared statement and savepoints are not", async () => {
  const world = await setup();
  await world.sql("create table leasehold.bookings (n int)");
  const insert = `insert into ${world.schema}.bookings values`;
  await world.lh.transaction(async (tx) => {
    await tx.query("prepare plan as select 1");
    await tx.query("savepoint a");
    await tx.query(`${insert} (1)`);
    await tx.query("rollback to a");
    await tx.query(`${insert} (2)`);
    await tx.query("rollback to savepoint a");
    await tx.query(`savepoint b; ${insert} (3); ROLLBACK WORK\n TO SAVEPOINT b; ${insert} (4)`);
    await tx.query("release a");
    await tx.query("deallocate plan");
  });
  expect(await world.sql("select n from leasehold.bookings")).toEqual([{ n: 4 }]);
  const [allowed] = await world.sql<{ n: number }>(
    "select current_setting('max_prepared_transactions')::int as n",
  );
  const error = await world.lh
    .transaction((tx) => tx.query(`prepare transaction '${world.schema}'`))
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject(allowed!.n > 0 ? refused : { code: "55000" });
  if (allowed!.n > 0) await world.sql(`rollback prepared '${world.schema}'`);
});

test("a handler that rolls back by hand has failed", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const dead = heard(world.lh, "job:dead_lettered");
  await startWorker(world.lh, { k: (job) => job.transaction((tx) => tx.query("rollback")) });
  await inbox.enqueue("k", 1, { maxAttempts: 1 });
  await until("it is a dead letter", () => dead.length === 1);
  expect(dead[0]?.error).toMatch(/ended the transaction/);
});
