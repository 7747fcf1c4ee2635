import pg from "pg";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { NodePostgres } from "../../src/adapters/node-postgres.js";
import { clientConfig } from "../../src/adapters/pool-options.js";
import { startPostgres } from "../../src/embedded.js";
import { createEvents } from "../../src/events.js";
import { connect, defaults } from "../../src/index.js";
import { blackHoleProxy } from "../support/black-hole-proxy.js";
import { setup } from "../support/world.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

/** A server that asks for a password, whatever the server of the other tests does. */
let strict: URL;
beforeAll(async () => {
  const server = await startPostgres();
  strict = new URL(server.url);
  return () => server.stop();
});

type Password = NonNullable<pg.PoolConfig["password"]>;

test.each<{ how: string; of: (password: string) => Password }>([
  { how: "a string", of: (password) => password },
  { how: "a function", of: (password) => () => password },
  { how: "an async function", of: (password) => async () => await Promise.resolve(password) },
])("a worker on a user's pool has its session when the password is $how", async ({ of }) => {
  const world = await setup({}, strict.href);
  await world.queue();
  const pool = new pg.Pool({
    host: strict.hostname,
    port: Number(strict.port),
    user: "postgres",
    database: "postgres",
    password: of(strict.password),
  });
  const lh = await connect({ pool, schema: world.schema });
  onTestFinished(async () => {
    await lh.close();
    await pool.end();
  });
  const opened = heard(lh, "session:opened");
  const failed = heard(lh, "activity:failed");
  await startWorker(lh, { k: () => {} });
  await until("the session is open", () => opened.length + failed.length > 0);
  expect({ failed, isLocked: opened[0]?.isLocked }).toEqual({ failed: [], isLocked: true });
});

test("what a pool hides of its options goes to the session too, and its limits do not", () => {
  const pool = new pg.Pool({
    host: "db",
    password: "secret",
    ssl: { key: "private", ca: "public" },
    max: 3,
    query_timeout: 1,
    statement_timeout: 1,
  });
  expect(Object.keys(pool.options)).not.toContain("password");
  const { ssl, ...rest } = clientConfig(pool.options);
  expect({ ...rest, key: (ssl as { key: string }).key }).toEqual({
    host: "db",
    password: "secret",
    key: "private",
  });
});

test("internal queries on a user's pool have a limit of their own", async () => {
  const world = await setup();
  const proxy = await blackHoleProxy(world.url);
  onTestFinished(() => proxy.close());
  const pool = new pg.Pool({ connectionString: proxy.url, max: 2 });
  const settings = {
    ...defaults,
    connectTimeoutMs: 200,
    statementTimeoutMs: 200,
    closeWaitMs: 200,
  };
  const database = new NodePostgres(
    pool,
    settings,
    createEvents(() => {}),
  );
  const one = { name: "one", text: "select 1 as one", values: [] };
  expect(await database.run(one)).toEqual([{ one: 1 }]);
  const within = async (): Promise<void> =>
    void (await database.transaction(async (tx) => {
      proxy.swallow();
      await tx.run(one);
    }, "ours"));
  await expect(within()).rejects.toMatchObject({ code: "LH_DATABASE_UNAVAILABLE" });
  // Nothing is idle now, so this one waits for a new connection, and the pool has no limit for that.
  await expect(database.run(one)).rejects.toMatchObject({ code: "LH_DATABASE_UNAVAILABLE" });
  await expect(database.transaction((tx) => tx.run(one), "ours")).rejects.toMatchObject({
    code: "LH_DATABASE_UNAVAILABLE",
  });
  await database.close();
});

test("a limit that a user's pool has for his own queries does not end ours", async () => {
  const world = await setup();
  const pool = new pg.Pool({ connectionString: world.url, max: 2, query_timeout: 1 });
  onTestFinished(() => pool.end());
  const settings = {
    ...defaults,
    isOwnPool: false,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 60_000,
    closeWaitMs: 200,
  };
  const database = new NodePostgres(
    pool,
    settings,
    createEvents(() => {}),
  );
  const slow = { name: "slow", text: "select 1 as one from pg_sleep(0.2)", values: [] };
  expect(await database.run(slow)).toEqual([{ one: 1 }]);
  expect(await database.transaction((tx) => tx.run(slow), "ours")).toEqual([{ one: 1 }]);
  await database.close();
});
