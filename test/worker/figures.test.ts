import { expect, test } from "vitest";
import { deadLetter } from "../../src/index.js";
import { withoutPolls } from "../support/held-clock.js";
import { setup } from "../support/world.js";
import { heard, startWorker, until } from "./worker-world.js";

test("a worker counts outcomes, durations by kind, and what made it claim; its heartbeat tells them to stats()", async () => {
  const world = await setup({ workerId: "a", heartbeatMs: 50 });
  const { lh } = world;
  const inbox = await world.queue();
  const claims = heard(lh, "claim:finished");
  const handled = heard(lh, "job:handled");
  const worker = await startWorker(lh, {
    ok: () => {},
    tx: (job) => job.transaction(async () => {}),
    fails: () => {
      throw new Error("no");
    },
    dies: () => {
      throw deadLetter("never");
    },
  });
  for (const kind of ["ok", "ok", "tx", "fails", "dies"]) await inbox.enqueue(kind, {});
  await until("all were handled", () => handled.length === 5);
  expect(worker.figures?.counts).toMatchObject({ claimedRows: 5, completed: 3, retried: 1, deadLettered: 1 });
  expect([...(worker.figures?.handlers ?? [])].map(([kind, { count }]) => [kind, count]).sort()).toEqual([
    ["dies", 1],
    ["fails", 1],
    ["ok", 2],
    ["tx", 1],
  ]);
  expect(claims.reduce((sum, { rows }) => sum + rows, 0)).toBe(5);
  await until("a heartbeat tells it", async () => (await inbox.stats()).recent.handlers.dies?.count === 1);
  const { recent } = await inbox.stats();
  expect(recent).toMatchObject({ workers: 1, handlers: { ok: { count: 2 }, tx: { count: 1 } } });
  expect(recent.completedPerSecond).toBeGreaterThan(0);
  expect(recent.claims.rowsPerClaim).toBeGreaterThan(0);
  JSON.stringify(await inbox.stats());
});

test("a claim that a notification caused is told apart from polls", async () => {
  const held = withoutPolls();
  const world = await setup({ workerId: "a", ...held });
  const inbox = await world.queue();
  const claims = heard(world.lh, "claim:finished");
  let done = 0;
  await startWorker(world.lh, { k: () => void done++ });
  await until("it sleeps until its poll", () => held.clock.isAsleep());
  expect(claims.map(({ cause }) => cause)).not.toContain("wake");
  expect(claims[0]?.cause).toBe("change");
  await inbox.enqueue("k", 1);
  await until("it has started", () => done === 1);
  expect(claims.find(({ rows }) => rows === 1)?.cause).toBe("wake");
});
