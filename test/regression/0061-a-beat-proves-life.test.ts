import { connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { listenInFrontOf } from "../support/in-front.js";
import { graceMs, processesOf } from "../support/tenant-holders.js";
import { setup, type World } from "../support/world.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

/** Looks after the session locks, as the elected watcher does. */
async function watcher(world: World): Promise<(now: Date | null) => Promise<readonly string[]>> {
  const client = await world.client();
  let isWatcher = false;
  return async (now) => {
    const { rows } = await client.query(
      `select is_watcher, marked from ${world.schema}.watch_workers('watcher', $1, $2, $3)`,
      [isWatcher, graceMs, now],
    );
    isWatcher = rows[0]?.is_watcher === true;
    return rows[0]?.marked ?? [];
  };
}

/**
 * Found by the simulation (seeds 7000299, 55000696 and 55000798): the session of a worker broke on the server's side only. It went on beating, was marked dead after the grace, and the row that
 * it was running was taken.
 */
test("the grace begins again with each beat, and a worker that does not beat is marked dead after it", async () => {
  const world = await setup();
  const { time, started } = processesOf(world);
  for (const id of ["watcher", "b", "c"]) await started(id, true);
  const holder = await world.client();
  await holder.query(
    `select pg_advisory_lock(${world.schema}.session_lock(id)) from unnest('{b,c}'::text[]) id`,
  );
  const a = await started("a", true);
  const look = await watcher(world);
  expect(await look(time.databaseNow())).toEqual([]);
  expect(await look(time.databaseNow())).toEqual([]);
  for (let beats = 0; beats < 4; beats++) {
    time.advance(graceMs - 100);
    expect(await a.beat()).toBe("accepted");
    expect(a.record.isSessionFree).toBe(true);
    expect(await look(time.databaseNow())).toEqual([]);
  }
  time.advance(graceMs - 100);
  expect(await look(time.databaseNow())).toEqual([]);
  time.advance(100);
  expect(await look(time.databaseNow())).toEqual(["a"]);
});

test("a tenant of a worker that beats is not lost by its session", async () => {
  const world = await setup();
  const { time, started } = processesOf(world);
  const [a, other] = [await started("a", true), await started("other")];
  const token = await a.win("x");
  await world.sql("update leasehold.workers set free_since = $1 where id = 'a'", [time.databaseNow()]);
  time.advance(graceMs);
  await a.beat();
  await other.beat();
  await world.sql("update leasehold.workers set status = 'dead' where id = 'a'");
  expect(await other.win("x", token ?? 0n)).toBeNull();
  time.advance(graceMs);
  expect(await other.win("x", token ?? 0n)).not.toBeNull();
});

/** Passes everything on until it is muted: from then on the clients that it has hear nothing, not even that the server has closed their connection. */
async function mutableProxy(url: string): Promise<{ readonly url: string; mute(): void }> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const muted = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: Number(target.port || 5432), host: target.hostname, noDelay: true });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
    client.on("data", (chunk: Buffer) => upstream.write(chunk));
    client.on("close", () => upstream.destroy());
    upstream.on("data", (chunk: Buffer) => muted.has(upstream) || client.write(chunk));
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: await listenInFrontOf(url, server),
    mute: () => {
      for (const socket of sockets) muted.add(socket);
    },
  };
}

test("the answer to a beat tells a worker that the server has ended its session, and it opens another", async () => {
  const world = await setup();
  await world.queue();
  const proxy = await mutableProxy(world.url);
  const directUrl = proxy.url;
  const lh = await world.connect({ workerId: "a", heartbeatMs: 100, ttlMs: 60_000, directUrl });
  const lost = heard(lh, "session:lost");
  const opened = heard(lh, "session:opened");
  const dead = heard(lh, "worker:registered");
  await startWorker(lh, { k: () => {} });
  await until("it holds its session lock", () => opened.length === 1);
  proxy.mute();
  await world.sql(
    `select pg_terminate_backend(l.pid) from pg_locks l, lateral (select leasehold.session_lock('a') as key) k
     where l.locktype = 'advisory' and l.classid = (k.key >> 32 & 4294967295)::oid and l.objid = (k.key & 4294967295)::oid`,
  );
  await world.sql("update leasehold.workers set free_since = now() where id = 'a'");
  await until("it has opened another", () => opened.length === 2);
  expect(lost).toMatchObject([{ reason: expect.stringContaining("lock is free") }]);
  await until("the registry knows of it", async () => {
    const [row] = await world.sql("select has_session, free_since from leasehold.workers where id = 'a'");
    return row?.has_session === true && row.free_since === null;
  });
  expect(dead.map(({ why }) => why)).toEqual(["it starts", "its session is new"]);
});
