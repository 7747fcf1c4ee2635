import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { type ConnectOptions, connect, LeaseholdError, type Tx } from "../../src/index.js";
import { createTenantSupervisor } from "../../src/tenants.js";
import { setup } from "../support/world.js";

async function refusal(act: () => unknown): Promise<unknown> {
  try {
    return [await act()];
  } catch (error) {
    return error;
  }
}

const rows = async (): Promise<unknown> => [];
const never = (): void => {};

/** As far as their shape goes: what users of these libraries have in hand when they are in a transaction. */
const others: readonly (readonly [name: string, tx: unknown])[] = [
  ["postgres.js", Object.assign(rows, { unsafe: rows, savepoint: never })],
  ["Drizzle", { execute: rows, select: never, insert: never, rollback: never, query: { orders: {} } }],
  ["Kysely", { selectFrom: never, executeQuery: rows, isTransaction: true }],
  ["Knex", Object.assign(() => ({}), { raw: rows, commit: never, isTransaction: true })],
  ["Prisma", { $queryRaw: rows, $executeRaw: rows, $queryRawUnsafe: rows, order: {} }],
  ["an empty object", {}],
  ["null", null],
  ["a text", "tx"],
  ["true", true],
  ["a query that is no function", { query: "select 1" }],
];

test.each(others)("a tx that is %s is refused with what it must be, and nothing runs", async (_name, tx) => {
  const world = await setup();
  const inbox = await world.queue();
  const given = tx as Tx;
  for (const act of [
    () => inbox.enqueue("k", 1, { tx: given }),
    () => inbox.enqueueMany([{ kind: "k", payload: 1 }], { tx: given }),
    () => world.lh.fence(given, "order:1", 1n),
    () => world.lh.once(given, "handler", "message"),
  ]) {
    const error = await refusal(act);
    expect(error).toBeInstanceOf(LeaseholdError);
    expect(error).toMatchObject({ code: "LH_INVALID_TX" });
    expect((error as Error).message).toMatch(/query\(text, values\).*docs\/transactions\.md/);
  }
  expect((await inbox.stats()).pending).toBe(0);
});

test("a pool is no transaction", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const pool = new pg.Pool({ connectionString: world.url });
  onTestFinished(() => pool.end());
  const refused = { code: "LH_INVALID_TX", message: expect.stringContaining("pool.connect()") };
  await expect(inbox.enqueue("k", 1, { tx: pool })).rejects.toMatchObject(refused);
  await expect(world.lh.fence(pool, "order:1", 1n)).rejects.toMatchObject(refused);
  expect((await inbox.stats()).pending).toBe(0);
});

test("a manager whose query() answers with a list of rows is told from a client by its answer", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const client = await world.client();
  const manager = {
    query: async (text: string, values: unknown[]) => (await client.query(text, values)).rows,
  } as unknown as Tx;
  for (const act of [
    () => inbox.enqueue("k", 1, { tx: manager }),
    () => world.lh.fence(manager, "order:1", 1n),
    () => world.lh.once(manager, "handler", "message"),
  ]) {
    await client.query("begin");
    const error = await refusal(act);
    expect(error).toMatchObject({ code: "LH_INVALID_TX", message: expect.stringMatching(/roll back/i) });
    await client.query("rollback");
  }
  for (const answer of [undefined, null, 5, {}, { rows: null }, { rows: {} }]) {
    const tx = { query: async () => answer } as unknown as Tx;
    await expect(inbox.enqueue("k", 1, { tx })).rejects.toMatchObject({ code: "LH_INVALID_TX" });
  }
  expect((await inbox.stats()).pending).toBe(0);
});

test("a client that has ended, or whose server is gone, is an error with a code", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const client = await world.client();
  await client.end();
  for (const act of [
    () => inbox.enqueue("k", 1, { tx: client }),
    () => inbox.enqueueMany([{ kind: "k", payload: 1 }], { tx: client }),
    () => world.lh.fence(client, "order:1", 1n),
    () => world.lh.once(client, "handler", "message"),
  ]) {
    const error = await refusal(act);
    expect(error).toMatchObject({ code: "LH_DATABASE_UNAVAILABLE", isAmbiguous: false });
    expect((error as Error).cause).toBeInstanceOf(Error);
  }
});

test("a client that was never connected is refused; its queries would wait for ever", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const tx = new pg.Client({ connectionString: world.url });
  const refused = { code: "LH_INVALID_TX", message: expect.stringContaining("connected") };
  await expect(inbox.enqueue("k", 1, { tx })).rejects.toMatchObject(refused);
});

test("an answer of the server on a tx of the user's comes back as the driver raised it", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const client = await world.client();
  await client.query("begin");
  await client.query("select 1/0").catch(() => {});
  await expect(inbox.enqueue("k", 1, { tx: client })).rejects.toBeInstanceOf(pg.DatabaseError);
  await client.query("rollback");
});

test("a transaction of the library's can't be used after its end", async () => {
  const world = await setup();
  const inbox = await world.queue();
  let kept: Tx | null = null;
  await world.lh.transaction(async (open) => {
    kept = open;
  });
  const tx = kept as unknown as Tx;
  const refused = { code: "LH_INVALID_TX", message: expect.stringContaining("ended") };
  await expect(inbox.enqueue("k", 1, { tx })).rejects.toMatchObject(refused);
  await expect(tx.query("select 1")).rejects.toMatchObject(refused);
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  await job!.transaction(async (own) => {
    kept = own;
  });
  await expect((kept as unknown as Tx).query("select 1")).rejects.toMatchObject(refused);
});

test("what is no held job is refused by every call that takes one", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  const { id, workerId, fenceToken } = job!;
  const given: readonly unknown[] = [
    "abc",
    id,
    null,
    undefined,
    {},
    { id, workerId },
    { id: "abc", workerId, fenceToken },
    { id, workerId: "", fenceToken },
    { id, workerId: 5, fenceToken },
    { id, workerId, fenceToken: Number(fenceToken) },
    { id, workerId, fenceToken: -1n },
  ];
  for (const one of given) {
    const held = one as { id: string; workerId: string; fenceToken: bigint };
    for (const act of [
      () => inbox.complete(held),
      () => inbox.fail(held, new Error("no")),
      () => inbox.release(held),
      () => inbox.renew(held),
      () => inbox.settle([{ job: held, outcome: { is: "complete" } }]),
    ])
      expect(await refusal(act)).toMatchObject({ code: expect.stringMatching(/^LH_INVALID_/) });
  }
  expect(await inbox.complete({ id: id.toUpperCase(), workerId, fenceToken })).toBe(true);
});

test("every other argument that can't be used is refused with a code", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  const ended = new pg.Pool({ connectionString: world.url });
  await ended.end();
  const lone = new pg.Client({ connectionString: world.url });
  const { lh } = world;
  const to = (options: object) => () => connect({ url: world.url, ...options } as ConnectOptions);
  const settle = (value: unknown) => () => inbox.settle(value as never);
  const supervisor = createTenantSupervisor(lh, { start: never, handlesSignals: false });
  await supervisor.start();
  const acts: readonly (readonly [name: string, act: () => unknown])[] = [
    ["connect to a text", () => connect("postgres://localhost" as ConnectOptions)],
    ["connect to null", () => connect(null as unknown as ConnectOptions)],
    ["an empty pool", to({ pool: {} })],
    ["a pool that is null", to({ pool: null })],
    ["a client for a pool", to({ pool: lone })],
    ["a pool that has ended", to({ pool: ended })],
    ["a direct URL that is none", to({ directUrl: 5 })],
    ["an event that is none", () => lh.on("job:faild" as "job:failed", never)],
    ["a listener that is none", () => lh.on("job:failed", 5 as never)],
    ["options of a queue that are null", () => lh.queue("inbox", null as never)],
    ["a worker on null", () => lh.worker(null as never, { k: never })],
    ["a transaction of nothing", () => lh.transaction(5 as never)],
    ["a job's transaction of nothing", () => job!.transaction(5 as never)],
    ["an eviction of a number", () => lh.evict(5 as never)],
    ["an eviction of nobody", () => lh.evict("")],
    ["a ring of a number", () => lh.ring(5 as never)],
    ["a fence of a number", () => lh.fence({ query: never } as never, 5 as never, 1n)],
    ["a token that is a number", () => lh.fence({ query: never } as never, "a", 1 as never)],
    ["a message that is a number", () => lh.once({ query: never } as never, "h", 5 as never)],
    ["get of nothing", () => inbox.get(undefined as never)],
    ["why of a number", () => inbox.why(5 as never)],
    ["ids that are a number", () => inbox.retry({ ids: 5 as never })],
    ["ids that are a text", () => inbox.discard({ ids: "abc" as never })],
    ["progress that is none", () => inbox.retry({}, 5 as never)],
    ["tokens that are numbers", () => inbox.claim({ workerId: "w", knownTokens: [1] as never })],
    ["tokens that are no list", () => inbox.claim({ workerId: "w", knownTokens: 1n as never })],
    ["settlements that are none", settle(null)],
    ["settlements without a list", settle({ job, outcome: { is: "complete" } })],
    ["a settlement that is null", settle([null])],
    ["a settlement without an outcome", settle([{ job }])],
    ["an outcome that is none", settle([{ job, outcome: { is: "done" } }])],
    ["an outcome that is a text", settle([{ job, outcome: "complete" }])],
    ["a wait that is a text", settle([{ job, outcome: { is: "retry", error: "e", delayMs: "5" } }])],
    ["a supervisor of nothing", () => createTenantSupervisor(null as never, { start: never })],
    ["tenants that are no list", () => supervisor.dispatchCold(5 as never, never)],
    ["a task that is none", () => supervisor.fanOut(["acme"], 5 as never)],
    ["a promotion with null", () => supervisor.promote("acme", null as never)],
  ];
  for (const [name, act] of acts) {
    const error = await refusal(act);
    expect(error, name).toBeInstanceOf(LeaseholdError);
    expect(error, name).toMatchObject({ code: expect.stringMatching(/^LH_(INVALID_|CLOSED)/) });
  }
  await supervisor.stop();
  expect(await inbox.complete(job!)).toBe(true);
});
