import { expect, onTestFinished, test } from "vitest";
import type { Clock } from "../../src/seams/clock.js";
import { untilAgreed } from "../support/agreed-ring.js";
import { report } from "../support/figures.js";
import { now, openFleet } from "../support/fleet.js";
import { percentile } from "../support/history.js";
import { isLong } from "../support/length.js";
import { watchingProxy } from "../support/watching-proxy.js";
import { setup } from "../support/world.js";
import { startWorker, until } from "./worker-world.js";

/** Time that runs several times as fast, for what a worker does by itself. Adds up how long its idle polls were meant to be. */
function quickClock(factor: number): Clock & { readonly polledMs: () => number } {
  let polledMs = 0;
  return {
    monotonicMs: () => performance.now() * factor,
    epochMs: () => Date.now(),
    databaseNow: () => null,
    polledMs: () => polledMs,
    sleep: (ms, wake) =>
      new Promise((resolve) => {
        if (wake?.aborted === true) return resolve();
        const end = (): void => {
          if (ms > 1_000 && ms <= 2_000) polledMs += ms;
          clearTimeout(timer);
          wake?.removeEventListener("abort", end);
          resolve();
        };
        const timer = setTimeout(end, ms / factor);
        wake?.addEventListener("abort", end);
      }),
  };
}

test("an idle fleet of four sends few statements", async () => {
  const world = await setup();
  await world.queue();
  const proxy = await watchingProxy(world.url);
  onTestFinished(() => proxy.close());
  const clocks = ["w0", "w1", "w2", "w3"].map((id) => ({ id, clock: quickClock(4) }));
  for (const { id, clock } of clocks)
    await startWorker(await world.connect({ workerId: id, clock, url: proxy.url }), { k: () => {} });
  const polledMs = (): number => Math.min(...clocks.map(({ clock }) => clock.polledMs()));
  await until("all are asleep", () => polledMs() > 0);
  const [from, before] = [polledMs(), proxy.statements()];
  await until("time has passed for all of them", () => polledMs() - from > (isLong ? 60_000 : 15_000));
  // By their own time: on a slow machine everything comes later, the polls by which it is counted too.
  const statementsPerSecond = (proxy.statements() - before) / ((polledMs() - from) / 1_000);
  process.stdout.write(`idle fleet of 4: ${JSON.stringify({ statementsPerSecond })}\n`);
  expect(statementsPerSecond).toBeLessThanOrEqual(8);
}, 180_000);

test("a job that comes to an idle fleet of four is started at once, without a poll", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const fleet = openFleet(world, { isUnpolled: true, ttlMs: 600_000 });
  for (const id of ["w0", "w1", "w2", "w3"]) await fleet.add(id);
  await untilAgreed(world, fleet);
  await until("all are asleep", () => fleet.isAsleep());
  const sinceCall: number[] = [];
  const rounds = isLong ? 200 : 30;
  for (let n = 0; n < rounds; n++) {
    const calledAt = now();
    await inbox.enqueue("work", { n }, { partitionKey: `latency:${n}` });
    const start = () => fleet.told.find((one) => one.is === "start" && one.n === n);
    await until(`job ${n} has started`, () => start() !== undefined);
    sinceCall.push(start()!.at - calledAt);
  }
  const figures = {
    jobs: sinceCall.length,
    p50: percentile(sinceCall, 0.5),
    p99: percentile(sinceCall, 0.99),
  };
  report("idle fleet of 4, latency", figures, { p50: 50 });
  expect(new Set(fleet.told.map((one) => one.worker)).size).toBe(4);
}, 180_000);

test("timers fire on an idle fleet when they are due, without a poll and not before", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const fleet = openFleet(world, { isUnpolled: true, ttlMs: 600_000 });
  for (const id of ["w0", "w1"]) await fleet.add(id);
  await untilAgreed(world, fleet);
  await until("all are asleep", () => fleet.isAsleep());
  // Up to a second: a wait for longer than that would count as a poll.
  const timers = 40;
  for (let n = 0; n < timers; n++)
    await inbox.enqueue("work", { n }, { delayMs: 150 + n * 20, partitionKey: `timer:${n}` });
  await until("all have started", () => fleet.told.filter((one) => one.is === "end").length === timers);
  const due = await world.sql<{ n: number; at: number; is_early: boolean }>(
    `select (payload ->> 'n')::int as n, extract(epoch from available_at)::float8 * 1000 as at, claimed_at < available_at as is_early
     from leasehold.inbox_archive order by 1`,
  );
  const late = due.map(({ n, at }) => fleet.told.find((one) => one.is === "start" && one.n === n)!.at - at);
  const figures = { jobs: late.length, p50: percentile(late, 0.5), p99: percentile(late, 0.99) };
  report("timers, ms after their time", figures, { p50: 20 });
  expect(due.filter(({ is_early }) => is_early)).toEqual([]);
}, 120_000);
