import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import type { Leasehold } from "../../src/index.js";
import { setup } from "../support/world.js";

/** A SET in a user's transaction stayed on the pool's connection, where the library's own statements met it. */

const lasting = [
  "set default_transaction_isolation = 'serializable'",
  "set default_transaction_read_only = on",
  "SET SESSION statement_timeout = 5",
  "/* ours */ set datestyle = 'German'",
  "set role pg_read_all_data",
  "select 1; set lock_timeout = 1",
  "select set_config('default_transaction_isolation', 'serializable', false)",
  "select pg_catalog.set_config('default_transaction_isolation', $1, $2)",
  "reset all",
  "deallocate all",
];

const passing = [
  "set local statement_timeout = 5000",
  "  Set  Local app.tenant = 'set by us'",
  "set transaction read only",
  "set constraints all deferred",
  "select set_config('app.tenant', 'acme', true)",
];

/** Runs a statement in a transaction; tells which process of the server ran it. */
async function pidOf(lh: Leasehold, text = "select 1"): Promise<number> {
  return await lh.transaction(async (tx) => {
    const { rows } = await tx.query("select pg_backend_pid() as pid");
    await tx.query(text, text.includes("$1") ? ["serializable", "false"] : undefined);
    return (rows[0] as { pid: number }).pid;
  });
}

/** The statements after which the next transaction has another connection. */
async function replaced(lh: Leasehold, texts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const text of texts) if ((await pidOf(lh, text)) !== (await pidOf(lh))) found.push(text);
  return found;
}

test("a connection on which a transaction changed the session is not used again", async () => {
  const { lh } = await setup();
  expect(await replaced(lh, lasting)).toEqual(lasting);
});

test("a connection whose settings ended with the transaction is used again", async () => {
  const { lh } = await setup();
  expect(await replaced(lh, passing)).toEqual([]);
});

test("claims go on after a handler's transaction has changed the isolation level of a connection of a user's pool", async () => {
  const pool = new pg.Pool({ connectionString: inject("databaseUrl"), max: 4 });
  onTestFinished(() => pool.end());
  const { queue } = await setup({ pool, url: undefined });
  const inbox = await queue();
  for (let i = 0; i < 4; i++) {
    await inbox.enqueue("x", i, { partitionKey: "k" });
    const [job] = await inbox.claim({ workerId: "w" });
    await job?.transaction((tx) => tx.query("set default_transaction_isolation = 'serializable'"));
  }
  expect(await inbox.list()).toEqual([]);
});

test("a claim on a connection with another isolation level is sent again on another connection", async () => {
  const pool = new pg.Pool({ connectionString: inject("databaseUrl"), max: 2 });
  onTestFinished(() => pool.end());
  const { queue } = await setup({ pool, url: undefined });
  const inbox = await queue();
  await inbox.enqueue("x", 1, { partitionKey: "k" });
  await pool.query("set default_transaction_isolation = 'serializable'");
  expect(await inbox.claim({ workerId: "w" })).toHaveLength(1);
});
