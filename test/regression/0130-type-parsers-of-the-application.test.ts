import pg from "pg";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { setup, type World } from "../support/world.js";

/** Parsers that applications register for all of `pg` changed what the library read of its own rows. */

const shipped = new Map<number, (text: string) => unknown>();

function register(oid: number, parse: (text: string) => unknown): void {
  if (!shipped.has(oid)) shipped.set(oid, pg.types.getTypeParser(oid));
  pg.types.setTypeParser(oid, parse);
}

afterEach(() => {
  for (const [oid, parse] of shipped) pg.types.setTypeParser(oid, parse);
  shipped.clear();
});

/** Tokens above 2^53, as after a restore or a failover. */
async function inALaterEpoch(): Promise<World> {
  const world = await setup();
  await world.sql("select leasehold.begin_token_epoch()");
  return world;
}

test("a parser that makes numbers of int8 leaves tokens of a later epoch exact", async () => {
  const { queue } = await inALaterEpoch();
  const inbox = await queue();
  await inbox.enqueue("x", 1, { partitionKey: "k" });
  register(20, Number);
  const [job] = await inbox.claim({ workerId: "w" });
  expect(job?.fenceToken).toBeGreaterThan(2n ** 53n);
  expect(job && (await inbox.complete(job))).toBe(true);
});

test("a fence on a transaction of the user reads an exact token, whatever the parsers", async () => {
  const { lh, schema, client } = await inALaterEpoch();
  const tx = await client();
  const token = 2n ** 54n + 1n;
  register(20, (text) => {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new Error(`${text} is no safe integer`);
    return value;
  });
  await tx.query(`set search_path = ${schema}`);
  await tx.query("begin");
  await lh.fence(tx, "r", token);
  await expect(lh.fence(tx, "r", token - 1n)).rejects.toMatchObject({
    code: "LH_STALE_FENCE",
    message: expect.stringContaining(`seen token ${token};`),
  });
  await tx.query("rollback");
});

test("an enqueue on a transaction of the user tells duplicates, whatever the parsers", async () => {
  const { queue, client } = await setup();
  const inbox = await queue();
  const first = await inbox.enqueue("x", 1, { idempotencyKey: "once" });
  register(16, (text) => text); // "f" is true.
  register(2950, (text) => ({ text }));
  const tx = await client();
  await tx.query("begin");
  const second = await inbox.enqueue("x", 1, { idempotencyKey: "once", tx });
  const other = await inbox.enqueue("x", 1, { idempotencyKey: "another", tx });
  await tx.query("rollback");
  expect(second).toEqual({ id: first.id, duplicate: true });
  expect(other.duplicate).toBe(false);
});

test("statements of the user in lh.transaction and job.transaction keep the user's parsers", async () => {
  const { lh, queue } = await setup();
  const inbox = await queue();
  await inbox.enqueue("x", 1, { partitionKey: "k" });
  register(20, BigInt);
  const read = async (tx: { query(text: string): Promise<{ rows: readonly unknown[] }> }) =>
    (await tx.query("select 7::int8 as n")).rows;
  expect(await lh.transaction(read)).toEqual([{ n: 7n }]);
  const [job] = await inbox.claim({ workerId: "w" });
  expect(await job?.transaction(read)).toEqual([{ n: 7n }]);
});

test("a pool of the user that asks for binary results is refused at connect with LH_INVALID_OPTION", async () => {
  const { url, connect } = await setup();
  const pool = new pg.Pool({ connectionString: url, binary: true } as pg.PoolConfig);
  onTestFinished(() => pool.end());
  await expect(connect({ pool, url: undefined })).rejects.toMatchObject({
    code: "LH_INVALID_OPTION",
    option: "pool",
    message: expect.stringContaining("binary"),
  });
});

test("binary results as the driver's default change nothing with a url", async () => {
  const { connect } = await setup();
  const { binary } = pg.defaults;
  pg.defaults.binary = true;
  onTestFinished(() => {
    pg.defaults.binary = binary;
  });
  const lh = await connect();
  const inbox = await lh.queue("inbox", { order: "key" });
  const { id } = await inbox.enqueue("x", { n: 1 }, { partitionKey: "k" });
  expect(await inbox.get(id)).toMatchObject({ payload: { n: 1 }, status: "pending" });
});
