import { expect, inject, onTestFinished, test } from "vitest";
import { cuttingProxy } from "../support/cutting-proxy.js";
import { withoutPolls } from "../support/held-clock.js";
import { setup, type World } from "../support/world.js";
import { untilStatus } from "./stored-jobs.js";
import { heard, startWorker, until } from "./worker-world.js";

/** Ends the session of the worker a, as a failing network would. It is the one that holds the lock of its name. */
async function endSession(world: World): Promise<void> {
  const end = `select pg_terminate_backend(l.pid) from pg_locks l, (select leasehold.session_lock('a') as key) k
    where l.locktype = 'advisory' and l.objsubid = 1 and (l.classid::bigint << 32) | l.objid::bigint = k.key`;
  await until("its session is ended", async () => (await world.sql(end)).length > 0);
}

test("a worker whose session is cut off registers again, and is woken as before", async () => {
  const { clock, ttlMs } = withoutPolls();
  const world = await setup({ workerId: "a", clock, ttlMs });
  const inbox = await world.queue();
  const worker = await startWorker(world.lh, { k: () => {} });
  for (let round = 1; round <= 3; round++) {
    const opened = heard(world.lh, "session:opened");
    const lost = heard(world.lh, "session:lost");
    await endSession(world);
    await until("the session is lost and opened again", () => lost.length > 0 && opened.length > 0);
    await until("it holds its lock again", async () => (await world.lh.workers())[0]?.hasSession === true);
    expect((await world.lh.workers())[0]!.generation).toBeGreaterThan(round);
    await until("it sleeps until its poll", () => clock.isAsleep());
    const { id } = await inbox.enqueue("k", round);
    await untilStatus(world, id, "completed");
  }
  expect(worker.state).toBe("working");
});

test("a registration whose answer was lost does not make a worker give way to itself", async () => {
  const proxy = await cuttingProxy(inject("databaseUrl"));
  onTestFinished(() => proxy.close());
  const world = await setup({
    workerId: "a",
    url: proxy.url,
    directUrl: inject("databaseUrl"),
    heartbeatMs: 50,
    ttlMs: 10_000,
  });
  const inbox = await world.queue();
  const worker = await startWorker(world.lh, { k: () => {} });
  for (let round = 0; round < 8; round++) {
    const registered = heard(world.lh, "worker:registered");
    proxy.arm("after", "register_worker");
    await endSession(world);
    await until(
      "it has registered again or stopped",
      () => registered.length > 0 || worker.state !== "working",
    );
    expect(worker.state, `round ${round}`).toBe("working");
    expect(proxy.isArmed()).toBe(false);
  }
  const { id } = await inbox.enqueue("k", 1);
  await untilStatus(world, id, "completed");
  expect(worker.state).toBe("working");
  expect(proxy.cuts.after).toBe(8);
});

test("a worker that stops right after a claim whose answer was lost does not pass for one that left with nothing in hand", async () => {
  const proxy = await cuttingProxy(inject("databaseUrl"));
  onTestFinished(() => proxy.close());
  const { clock, ttlMs } = withoutPolls();
  const world = await setup({
    workerId: "a",
    url: proxy.url,
    directUrl: inject("databaseUrl"),
    clock,
    ttlMs,
  });
  const inbox = await world.queue();
  const worker = await startWorker(world.lh, { k: () => {} });
  await until("it sleeps until its poll", () => clock.isAsleep());
  let stopped: Promise<void> | null = null;
  world.lh.on("activity:failed", ({ activity }) => {
    if (activity === "claim") stopped ??= worker.stop();
  });
  proxy.arm("after", "claim_woken");
  await inbox.enqueue("k", 1);
  await until("a claim has lost its answer", () => stopped !== null);
  await stopped;
  expect(await world.sql("select status, left_at from leasehold.workers")).toEqual([
    { status: "dead", left_at: null },
  ]);
});
