import { expect, test } from "vitest";
import { graceMs, processesOf, ttlMs } from "../support/tenant-holders.js";
import { setup, type World } from "../support/world.js";

/** A process of worker a holds x; another process takes the id, and a third worker looks on. */
async function taken(sessions: { readonly before: boolean; readonly after: boolean }) {
  const world: World = await setup();
  const { started, time, process } = processesOf(world);
  const first = await started("a", sessions.before);
  const token = (await first.win("x"))!;
  const second = process("a");
  const other = await started("b");
  const tries = async (): Promise<string[]> => {
    await other.record.register(
      { version: "1", running: 0, slots: 0, held: 0, idleMs: {}, recent: {} },
      "it lives",
    );
    const winners: string[] = [];
    for (const one of [other, second]) {
      const lease = (await one.lease("x"))!;
      expect(lease.isMine).toBe(false);
      if (lease.isLost) winners.push(one.id);
    }
    const isLost = winners.length > 0;
    expect((await second.win("x", token)) !== null).toBe(isLost);
    return winners;
  };
  const enter = () => second.register(sessions.after);
  return { world, time, first, second, other, token, tries, enter, started, process };
}

test("without sessions, what an earlier process of the id held is won when that one's TTL is over, by its successor too", async () => {
  const { time, second, enter, tries } = await taken({ before: false, after: false });
  time.advance(500);
  await enter();
  expect(await tries()).toEqual([]);
  time.advance(ttlMs - 501);
  await second.beat();
  expect(await tries()).toEqual([]);
  time.advance(1);
  expect(await tries()).toEqual(["b", "a"]);
});

test("with a session before and after, it is won when the grace is over: the lock was free, so that one notices", async () => {
  const { time, enter, tries } = await taken({ before: true, after: true });
  await enter();
  time.advance(graceMs - 1);
  expect(await tries()).toEqual([]);
  time.advance(1);
  expect(await tries()).toEqual(["b", "a"]);
});

test("with a session on one side only, the TTL counts", async () => {
  for (const sessions of [
    { before: true, after: false },
    { before: false, after: true },
  ]) {
    const { time, enter, tries, second } = await taken(sessions);
    await enter();
    time.advance(graceMs);
    await second.beat();
    expect(await tries()).toEqual([]);
    time.advance(ttlMs - graceMs - 1);
    expect(await tries()).toEqual([]);
    time.advance(1);
    expect(await tries()).toEqual(["b", "a"]);
  }
});

test("when the grace would outlast the TTL of the earlier process, the TTL counts", async () => {
  const { time, enter, tries } = await taken({ before: true, after: true });
  time.advance(1_900);
  await enter();
  time.advance(99);
  expect(await tries()).toEqual([]);
  time.advance(1);
  expect(await tries()).toEqual(["b", "a"]);
});

test("when the earlier process had left, or was gone, its successor wins at once", async () => {
  const left = await taken({ before: false, after: false });
  await left.first.record.deregister(true);
  await left.enter();
  expect(await left.tries()).toEqual(["b", "a"]);
  const gone = await taken({ before: false, after: false });
  gone.time.advance(ttlMs);
  await gone.enter();
  expect(await gone.tries()).toEqual(["b", "a"]);
});

test("a third process waits for the first as well: an id that changes hands fast shortens no wait", async () => {
  const { time, enter, second, process, token } = await taken({ before: false, after: false });
  await enter();
  await second.record.deregister(true);
  const third = await process("a").register();
  expect((await third.lease("x"))!.isLost).toBe(false);
  time.advance(ttlMs - 1);
  expect(await third.win("x", token)).toBeNull();
  await third.beat();
  time.advance(1);
  expect(await third.win("x", token)).toBeGreaterThan(token);
});

test("a wait that an earlier change of hands asked for is not shortened by a later one that asks for less", async () => {
  const { time, started, first } = await taken({ before: false, after: true });
  await first.beat();
  time.advance(100);
  await started("a", true);
  time.advance(100);
  const third = await started("a", true);
  time.advance(ttlMs - 201);
  expect((await third.lease("x"))!.isLost).toBe(false);
  time.advance(1);
  expect((await third.lease("x"))!.isLost).toBe(true);
});

test("a process that registers again, as after a broken session, keeps what it holds", async () => {
  const { first, other, token, time } = await taken({ before: true, after: true });
  await first.record.register(
    { version: "1", running: 0, slots: 0, held: 0, idleMs: {}, recent: {} },
    "its session is new",
  );
  expect(await first.lease("x")).toMatchObject({ isMine: true, isLost: false });
  time.advance(graceMs);
  expect(await other.win("x", token)).toBeNull();
});

test("what a replaced process does with its leases later changes nothing", async () => {
  const { time, first, second, enter, token } = await taken({ before: false, after: false });
  await enter();
  time.advance(ttlMs);
  await second.beat();
  time.advance(1);
  const next = (await second.win("x", token))!;
  for (const held of [token, next]) {
    await first.ownership.drain([{ tenant: "x", token: held, heir: "b" }], 10);
    await first.ownership.free([{ tenant: "x", token: held }]);
    await first.ownership.drop([{ tenant: "x", token: held }]);
  }
  expect(await second.lease("x")).toMatchObject({
    isMine: true,
    token: String(next),
    state: "running",
    heir: null,
  });
});

test("restarts over and over put nothing off: what the first held is won when the first one's TTL is over", async () => {
  const { world, time, process, token } = await taken({ before: false, after: false });
  let last = process("a");
  for (let restarts = 1; restarts <= 4; restarts++) {
    time.advance(ttlMs / 4);
    last = process("a");
    await last.register(false);
    expect((await last.lease("x"))!.isLost).toBe(restarts === 4);
  }
  expect(await last.win("x", token)).not.toBeNull();
  // And what is over is forgotten.
  const [row] = await world.sql<{ predecessors: object }>(
    "select predecessors from leasehold.workers where id = 'a'",
  );
  expect(Object.keys(row!.predecessors).length).toBeLessThanOrEqual(3);
});
