import { expect, test } from "vitest";
import type { HistoryEntry } from "../../src/index.js";
import { setup, type World } from "../support/world.js";
import { gate, startWorker, until } from "./worker-world.js";

async function kindsOf(world: World, filter: Parameters<World["lh"]["history"]>[0] = {}): Promise<string[]> {
  return (await world.lh.history(filter)).map(({ kind }) => kind).reverse();
}

async function last(world: World, kind: string): Promise<HistoryEntry | undefined> {
  return (await world.lh.history({ kind, limit: 1 }))[0];
}

test("the life of a worker is in the history: it joins, gains buckets, and leaves", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const worker = await startWorker(world.lh, { k: () => {} });
  await until("it has told of its buckets", async () => (await last(world, "buckets:moved")) !== undefined);
  const moved = await last(world, "buckets:moved");
  expect(moved).toMatchObject({
    queue: "inbox",
    workerId: "a",
    count: 360,
    detail: { joined: ["a"], lost: [] },
  });
  expect(moved?.detail.gained).toHaveLength(360);
  const joined = await last(world, "worker:joined");
  expect(joined).toMatchObject({ workerId: "a", queue: null, count: null });
  expect(joined?.detail).toMatchObject({ why: "it starts", starts: 1, pid: process.pid });
  await worker.stop();
  expect(await kindsOf(world, { workerId: "a" })).toEqual(["worker:joined", "buckets:moved", "worker:left"]);
  JSON.stringify(await world.lh.history());
});

test("a join moves buckets, and both workers tell whose coming it was", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  await startWorker(world.lh, { k: () => {} });
  await startWorker(await world.connect({ workerId: "b" }), { k: () => {} });
  await until("a has lost what b gained", async () => {
    const moves = await world.lh.history({ kind: "buckets:moved" });
    const hasLost = moves.some(
      ({ workerId, detail }) => workerId === "a" && (detail.lost as unknown[]).length > 0,
    );
    return hasLost && moves.some(({ workerId }) => workerId === "b");
  });
  const moves = await world.lh.history({ kind: "buckets:moved" });
  const [ofB] = moves.filter(({ workerId }) => workerId === "b");
  const [ofA] = moves.filter(({ workerId }) => workerId === "a");
  expect(ofA?.detail).toMatchObject({ joined: ["b"], gained: [], lost: ofB?.detail.gained });
});

test("deaths name their rule: not seen for the TTL, or evicted by somebody", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  await world.sql(`insert into leasehold.workers (id, queues, last_seen_at) values
    ('silent', '{inbox}', now() - interval '1 hour'), ('bad', '{inbox}', now())`);
  await world.lh.housekeep();
  await world.lh.evict("bad");
  expect(await last(world, "worker:dead")).toMatchObject({ workerId: "silent", detail: { rule: "ttl" } });
  const [{ user } = { user: "" }] = await world.sql<{ user: string }>("select session_user as user");
  expect(await last(world, "worker:evicted")).toMatchObject({ workerId: "bad", actor: user });
  // Whoever lists the members marks the stale ones, too.
  await world.sql("update leasehold.workers set status = 'alive' where id = 'silent'");
  await startWorker(world.lh, { k: () => {} });
  await until("it is marked", async () => (await kindsOf(world, { workerId: "silent" })).length === 2);
});

test("jobs that a worker lost are one entry, with their number", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const { passed, open } = gate();
  let running = 0;
  const k = (): Promise<void> => {
    running++;
    return passed;
  };
  await startWorker(world.lh, { k }, { concurrency: 3 });
  for (const key of ["x", "y", "z"]) await inbox.enqueue("k", 1, { partitionKey: key });
  await until("all run", () => running === 3);
  await world.sql("update leasehold.inbox set lease_generation = lease_generation + 1");
  open();
  await until("it has found out", async () => {
    const lost = await world.lh.history({ kind: "lease:lost" });
    return lost.reduce((sum, { count }) => sum + (count ?? 0), 0) === 3;
  });
  expect(await last(world, "lease:lost")).toMatchObject({
    queue: "inbox",
    workerId: "a",
    detail: { during: "complete" },
  });
});

test("since when a worker owns the bucket of a key is in the history", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await startWorker(world.lh, { k: () => {} });
  await until("a has told of its buckets", async () => (await last(world, "buckets:moved")) !== undefined);
  const alone = await inbox.ownerOf("order:9182");
  expect(alone).toMatchObject({ owner: "a", next: null, since: (await last(world, "buckets:moved"))?.at });
  await startWorker(await world.connect({ workerId: "b" }), { k: () => {} });
  await until(
    "b has told of its buckets",
    async () => (await world.lh.history({ workerId: "b", kind: "buckets:moved" })).length > 0,
  );
  const [moved] = await world.lh.history({ workerId: "b", kind: "buckets:moved" });
  const gained = new Set(moved?.detail.gained as number[]);
  for (const key of ["order:1", "order:2", "order:3", "order:4", "order:5"]) {
    const { owner, bucket, since, next } = await inbox.ownerOf(key);
    expect(owner).toBe(gained.has(bucket) ? "b" : "a");
    expect(since).toEqual(owner === "b" ? moved?.at : alone.since);
    expect(next).toBe(owner === "b" ? "a" : "b");
  }
});
