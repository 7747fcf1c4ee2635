import { expect, test } from "vitest";
import { memberSettings } from "../../src/membership/member-settings.js";
import { openTransaction } from "../support/claims.js";
import { heldClock, withoutPolls } from "../support/held-clock.js";
import { setup, type World } from "../support/world.js";
import { untilStatus } from "./stored-jobs.js";
import { heard, startWorker, until } from "./worker-world.js";

const handlers = { k: () => {} };

test("workers of an excluded region own nothing, even alone", async () => {
  const world = await setup({ workerId: "us", region: "us" });
  const inbox = await world.queue("inbox", { order: "key", excludeRegions: ["us"] });
  const us = await startWorker(world.lh, handlers);
  expect(us.load.owned).toBe(0);
  expect((await world.lh.ring("inbox")).owners.every((owner) => owner === null)).toBe(true);
  const { id } = await inbox.enqueue("k", 1);
  const eu = await startWorker(await world.connect({ workerId: "eu", region: "eu" }), handlers);
  expect(eu.load.owned).toBe(360);
  expect(await untilStatus(world, id, "completed")).toMatchObject({ claimed_by: "eu" });
});

test("while a worker of a preferred region lives, only such workers own buckets", async () => {
  const world = await setup({ workerId: "us", region: "us", ...withoutPolls() });
  const inbox = await world.queue("inbox", { order: "key", preferRegions: ["eu"] });
  const us = await startWorker(world.lh, handlers);
  expect(us.load.owned).toBe(360);
  const eu = await startWorker(
    await world.connect({ workerId: "eu", region: "eu", ...withoutPolls() }),
    handlers,
  );
  await until("the other has all, because it was told", () => us.load.owned === 0);
  const first = await inbox.enqueue("k", 1);
  expect(await untilStatus(world, first.id, "completed")).toMatchObject({ claimed_by: "eu" });
  await eu.stop();
  await until("it has them back", () => us.load.owned === 360);
  const second = await inbox.enqueue("k", 2);
  expect(await untilStatus(world, second.id, "completed")).toMatchObject({ claimed_by: "us" });
});

test("a queue whose buckets are spread by another hash refuses workers and everybody else", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  await world.sql("update leasehold.queues set ring_hash = 'sha256'");
  const worker = world.lh.worker("inbox", handlers, { handlesSignals: false });
  await expect(worker.start()).rejects.toMatchObject({ code: "LH_RING_MISMATCH" });
  await expect(world.lh.queue("inbox")).rejects.toMatchObject({ code: "LH_RING_MISMATCH" });
  await expect(world.lh.ring("inbox")).rejects.toMatchObject({ code: "LH_RING_MISMATCH" });
  expect(await world.sql("select id from leasehold.workers")).toEqual([]);
});

test("a queue refuses to be opened with another ring than the stored one", async () => {
  const world = await setup();
  await world.queue("inbox", { order: "key", ring: "consistent", vnodes: 64, preferRegions: ["b", "a"] });
  const refused = { code: "LH_QUEUE_MISMATCH" };
  await expect(world.lh.queue("inbox", { ring: "rendezvous" })).rejects.toMatchObject(refused);
  await expect(world.lh.queue("inbox", { vnodes: 128 })).rejects.toMatchObject(refused);
  await expect(world.lh.queue("inbox", { preferRegions: ["a"] })).rejects.toMatchObject(refused);
  await expect(world.lh.queue("inbox", { excludeRegions: ["c"] })).rejects.toMatchObject(refused);
  await world.lh.queue("inbox", { ring: "consistent", vnodes: 64, preferRegions: ["a", "b"] });
});

test("two workers on a consistent ring share all buckets within the limit", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue("inbox", { order: "key", ring: "consistent" });
  await startWorker(world.lh, handlers);
  await startWorker(await world.connect({ workerId: "b" }), handlers);
  const { owners } = await world.lh.ring("inbox");
  const ofA = owners.filter((owner) => owner === "a").length;
  expect(new Set(owners)).toEqual(new Set(["a", "b"]));
  expect(Math.max(ofA, 360 - ofA)).toBeLessThanOrEqual(198);
});

const surroundings = {
  workerId: undefined,
  heartbeatMs: undefined,
  ttlMs: undefined,
  hostname: "host",
  pid: 7,
};

test("a worker's settings come from options, then from the environment, then from the defaults", () => {
  expect(memberSettings({}, surroundings)).toEqual({
    id: "host-7",
    hostname: "host",
    pid: 7,
    region: null,
    heartbeatMs: 10_000,
    ttlMs: 30_000,
    ringCacheMs: 8_000,
    metadata: "{}",
    tickMs: 30_000,
  });
  const environment = { ...surroundings, workerId: "env", heartbeatMs: "2000", ttlMs: "9000", tickMs: "700" };
  const settings = { id: "env", heartbeatMs: 2_000, ttlMs: 9_000, tickMs: 700 };
  expect(memberSettings({}, environment)).toMatchObject(settings);
  const options = { workerId: "opt", heartbeatMs: 1_000, ttlMs: 4_000, region: "eu" };
  const { workerId: id, ...rest } = options;
  expect(memberSettings(options, environment)).toMatchObject({ id, ...rest });
  // A longer heartbeat stretches the TTL that nobody chose.
  expect(memberSettings({ heartbeatMs: 20_000 }, surroundings).ttlMs).toBe(60_000);
});

for (const [name, value] of [
  ["heartbeatMs", "ten"],
  ["heartbeatMs", "1e4"],
  ["heartbeatMs", "-1"],
  ["heartbeatMs", "10.5"],
  ["heartbeatMs", " 100"],
  ["heartbeatMs", "49"],
  ["heartbeatMs", "99999999999999999999"],
  ["ttlMs", "soon"],
  ["ttlMs", "29999"],
  ["tickMs", "often"],
  ["tickMs", "49"],
] as const) {
  test(`the environment may not say ${name} ${JSON.stringify(value)}`, () => {
    expect(() => memberSettings({}, { ...surroundings, [name]: value })).toThrow(
      expect.objectContaining({ code: "LH_INVALID_OPTION" }),
    );
  });
}

test("a worker id or region that can't be stored is refused", () => {
  for (const workerId of ["", "x".repeat(257), "a\u0000b", "\ud800", 5 as never]) {
    const refused = expect.objectContaining({ code: "LH_INVALID_KEY" });
    expect(() => memberSettings({ workerId }, surroundings)).toThrow(refused);
  }
  for (const region of ["", 5 as never, null as never]) {
    const refused = expect.objectContaining({ code: "LH_INVALID_OPTION" });
    expect(() => memberSettings({ region }, surroundings)).toThrow(refused);
  }
});

/** A transaction that keeps heartbeats of the worker a from being written. */
async function holdRow(world: World) {
  const blocker = await openTransaction(world);
  await blocker.tx.query(`select 1 from ${world.schema}.workers where id = 'a' for update`);
  return blocker;
}

for (const isBusy of [true, false]) {
  test(`a worker whose heartbeats do not get through claims nothing until one does (${isBusy ? "busy" : "idle"})`, async () => {
    const world = await setup({ workerId: "a", heartbeatMs: 100, ttlMs: 300 });
    const inbox = await world.queue();
    const lost = heard(world.lh, "trust:lost");
    const regained = heard(world.lh, "trust:regained");
    const claimed = heard(world.lh, "jobs:claimed");
    await startWorker(
      world.lh,
      { k: () => new Promise((resolve) => setTimeout(resolve, 20)) },
      { concurrency: 2 },
    );
    const rows = Array.from({ length: isBusy ? 400 : 0 }, (_, n) => ({
      kind: "k",
      payload: n,
      partitionKey: `key-${n}`,
    }));
    if (isBusy) await inbox.enqueueMany(rows);
    const blocker = await holdRow(world);
    await until("it has lost trust", () => lost.length > 0);
    const before = claimed.length;
    const { id } = await inbox.enqueue("k", "late");
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(claimed.length).toBe(before);
    await blocker.rollback();
    await until("it has trust again", () => regained.length > 0);
    await untilStatus(world, id, "completed");
    expect(lost.length).toBeGreaterThan(0);
  });
}

test("a worker whose heartbeats got through again works again at once, not at the next look at the ring", async () => {
  // On this clock the ring is never looked at again by itself.
  const world = await setup({ workerId: "a", heartbeatMs: 100, ttlMs: 300, clock: heldClock() });
  const inbox = await world.queue();
  const worker = await startWorker(world.lh, handlers);
  const blocker = await holdRow(world);
  await until("its TTL has passed", () => worker.load.owned === 0);
  await blocker.rollback();
  const { id } = await inbox.enqueue("k", 1);
  await untilStatus(world, id, "completed");
});
