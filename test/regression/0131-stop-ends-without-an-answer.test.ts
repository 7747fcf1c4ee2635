import { expect, onTestFinished, test } from "vitest";
import { createTenantSupervisor } from "../../src/tenants.js";
import { blackHoleProxy } from "../support/black-hole-proxy.js";
import { type HeldClock, heldClock } from "../support/held-clock.js";
import { setup } from "../support/world.js";
import { gate, heard, startWorker, until } from "../worker/worker-world.js";

/**
 * stop() waited for the database wherever it told it something: 214 s in a network that swallows packets. Time passes here as fast as the test says, so it ends only if it
 * waits for no answer.
 */

/** Lets time pass until it has happened. */
async function elapsing<T>(clock: HeldClock, what: string, work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  await until(what, () => {
    clock.elapse(500);
    return isOver;
  });
  return await work;
}

async function inAHole() {
  const world = await setup();
  await world.queue();
  const proxy = await blackHoleProxy(world.url);
  onTestFinished(() => proxy.close());
  const clock = heldClock({ longMs: 100 });
  const lh = await world.connect({ url: proxy.url, clock, workerId: "a", ttlMs: 600_000 });
  return { world, proxy, clock, lh };
}

test("a worker stops and its connection closes although the database never answers", async () => {
  const { world, proxy, clock, lh } = await inAHole();
  const inbox = await world.lh.queue("inbox");
  const held = gate();
  const worker = await startWorker(
    lh,
    { k: () => held.passed },
    { concurrency: 2, drainLimitMs: 2_000, abortGraceMs: 500 },
  );
  await inbox.enqueueMany(
    [1, 2, 3, 4, 5].map((payload) => ({ kind: "k", payload, partitionKey: `k${payload}` })),
  );
  await until("it works", () => worker.load.running === 2);
  const stops = heard(lh, "worker:stopped");
  proxy.swallow();
  await elapsing(clock, "it has stopped", worker.stop());
  expect(worker.state).toBe("stopped");
  expect(stops).toMatchObject([{ isClean: false }]);
  await elapsing(clock, "it is closed", lh.close());
  await until("no connection is left", () => proxy.held() === 0);
});

test("a worker and a supervisor stop while connections are refused, and leave no rejection behind", async () => {
  const { world, proxy, clock, lh } = await inAHole();
  const inbox = await world.lh.queue("inbox");
  const held = gate();
  const worker = await startWorker(lh, { k: () => held.passed }, { drainLimitMs: 60_000, abortGraceMs: 500 });
  const options = { fleet: true, handlesSignals: false, drainLimitMs: 500, startupMs: 0 };
  const supervisor = createTenantSupervisor(lh, { ...options, hot: () => [], start: () => {} });
  await supervisor.start();
  await inbox.enqueue("k", 1);
  await until("it works", () => worker.load.running === 1);
  await proxy.close();
  await elapsing(clock, "both have stopped", Promise.all([worker.stop(), supervisor.stop()]));
  expect([worker.state, supervisor.state]).toEqual(["stopped", "stopped"]);
});

test("a worker that can't start is stopped although the database never answers", async () => {
  const { proxy, clock, lh } = await inAHole();
  const worker = lh.worker(
    "inbox",
    { k: () => {} },
    { handlesSignals: false, drainLimitMs: 500, abortGraceMs: 500 },
  );
  proxy.swallow();
  const started = worker.start().catch((error: unknown) => error);
  await elapsing(clock, "it has stopped", worker.stop());
  await elapsing(clock, "it is closed", lh.close());
  expect(await elapsing(clock, "the start was refused", started)).toMatchObject({ code: expect.any(String) });
});

test("a supervisor stops although the database never answers", async () => {
  const { proxy, clock, lh } = await inAHole();
  const options = { fleet: true, handlesSignals: false, drainLimitMs: 500, startupMs: 0 };
  const supervisor = createTenantSupervisor(lh, { ...options, hot: () => ["acme"], start: () => {} });
  await supervisor.start();
  await until("the tenant runs", () => {
    clock.elapse(100);
    return supervisor.hotTenants().length === 1;
  });
  proxy.swallow();
  await elapsing(clock, "it has stopped", supervisor.stop());
  expect(supervisor.state).toBe("stopped");
  expect(supervisor.hotTenants()).toEqual([]);
});

test("a supervisor whose hot() never answers is stopped at once, also while it starts", async () => {
  const world = await setup({ clock: heldClock() });
  const never = new Promise<never>(() => {});
  for (const fleet of [true, false]) {
    const options = { fleet, name: `t${fleet}`, handlesSignals: false, startupMs: 0 };
    const supervisor = createTenantSupervisor(world.lh, { ...options, hot: () => never, start: () => {} });
    const started = supervisor.start();
    await until("it has asked", () => supervisor.state === "working");
    await supervisor.stop();
    await started;
    expect(supervisor.state).toBe("stopped");
  }
});
