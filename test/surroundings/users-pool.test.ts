import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { connect } from "../../src/index.js";
import { startForTest } from "../embedded/server-world.js";
import { setup } from "../support/world.js";
import { heard } from "../worker/worker-world.js";
import { live } from "./life.js";

/** A pool that a user made, and that Leasehold is given. */

function usersPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  onTestFinished(() => pool.end());
  return pool;
}

const server = () => new URL(inject("databaseUrl"));

/** False for a server that trusts whoever comes, as PostgreSQL may be set up for tests. */
async function asksForPassword(): Promise<boolean> {
  const url = server();
  url.password = "not the password";
  const client = new pg.Client({ connectionString: url.href });
  try {
    await client.connect();
    return false;
  } catch {
    return true;
  } finally {
    await client.end();
  }
}

test("a pool that was used before: it works", async () => {
  const pool = usersPool({ connectionString: server().href, max: 4 });
  const warm = await Promise.all([1, 2, 3, 4].map(() => pool.connect()));
  for (const client of warm) {
    await client.query({ name: "warm", text: "select $1::int", values: [1] });
    client.release();
  }
  const world = await setup({ pool, url: undefined });
  const sessions = heard(world.lh, "session:opened");
  await live(world);
  expect(sessions.map(({ isLocked }) => isLocked)).toEqual(sessions.map(() => true));
  expect(sessions.length).toBeGreaterThan(0);
});

test("a pool with a password function: it works, with a session for the worker", async () => {
  const url = (await asksForPassword()) ? server() : new URL((await startForTest()).url);
  const { hostname: host, port, username: user, password, pathname } = url;
  let asked = 0;
  const pool = usersPool({
    host,
    port: Number(port),
    user,
    database: pathname.slice(1),
    password: async () => {
      asked++;
      return await Promise.resolve(decodeURIComponent(password));
    },
  });
  const world = await setup({ pool, url: undefined }, url.href);
  const sessions = heard(world.lh, "session:opened");
  await live(world);
  expect(sessions.length).toBeGreaterThan(0);
  expect(asked).toBeGreaterThan(sessions.length);
});

test("a pool of 1 connection: it is refused at connect with LH_INVALID_OPTION, which names the pool", async () => {
  const pool = usersPool({ connectionString: server().href, max: 1 });
  await expect(connect({ pool })).rejects.toMatchObject({
    code: "LH_INVALID_OPTION",
    option: "pool",
    message: expect.stringContaining("at least 2 connections"),
  });
  expect(pool.totalCount).toBe(0);
});

test("a pool of 2 connections: it works", async () => {
  const pool = usersPool({ connectionString: server().href, max: 2 });
  await live(await setup({ pool, url: undefined }));
});

test("a pool of 2 connections, one of them in a transaction of the user: it works, housekeeping too", async () => {
  const pool = usersPool({ connectionString: server().href, max: 2 });
  const { lh } = await setup({ pool, url: undefined });
  const inbox = await lh.queue("inbox", { order: "key" });
  await lh.transaction(async (tx) => {
    await tx.query("select 1");
    const { id } = await inbox.enqueue("k", 1);
    const [claims, report] = await Promise.all([inbox.claim({ workerId: "w" }), lh.housekeep()]);
    expect(claims.map((job) => job.id)).toEqual([id]);
    expect(report.elected).toBe(true);
    expect(await Promise.all(claims.map((job) => inbox.complete(job)))).toEqual([true]);
  });
});

test("an own pool of 2 connections: it works", async () => {
  await live(await setup({ connectionsMax: 2 }));
});
