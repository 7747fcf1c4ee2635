import { expect, onTestFinished, test } from "vitest";
import { now, openFleet } from "../support/fleet.js";
import { percentile } from "../support/history.js";
import { isLong } from "../support/length.js";
import { watchingProxy } from "../support/watching-proxy.js";
import { setup } from "../support/world.js";

test("an idle fleet of four sends few statements, and a job that comes is started at once", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const proxy = await watchingProxy(world.url);
  onTestFinished(() => proxy.close());
  const fleet = openFleet(world, { url: proxy.url });
  for (const id of ["w0", "w1", "w2", "w3"]) await fleet.add(id);
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  const seconds = isLong ? 60 : 15;
  const before = proxy.statements();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  const perSecond = (proxy.statements() - before) / seconds;

  const latencies: number[] = [];
  const calledAt = new Map<number, number>();
  const rounds = isLong ? 200 : 60;
  for (let n = 0; n < rounds; n++) {
    calledAt.set(n, now());
    await inbox.enqueue("work", { n }, { partitionKey: `latency:${n}` });
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  for (const one of fleet.told)
    if (one.is === "start") latencies.push(one.at - (calledAt.get(one.n) ?? Number.NaN));
  const figures = {
    statementsPerSecond: perSecond,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    jobs: latencies.length,
  };
  process.stdout.write(`idle fleet of 4: ${JSON.stringify(figures)}\n`);
  expect(latencies.length).toBe(rounds);
  expect(perSecond).toBeLessThanOrEqual(8);
  expect(figures.p50).toBeLessThan(50);
}, 180_000);

test("a timer fires close to its time on an idle fleet", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const fleet = openFleet(world);
  for (const id of ["w0", "w1"]) await fleet.add(id);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const dueAt = new Map<number, number>();
  for (let n = 0; n < 40; n++) {
    const delayMs = 150 + n * 60;
    const { availableAt } = await dueIn(inbox, n, delayMs);
    dueAt.set(n, availableAt);
  }
  await new Promise((resolve) => setTimeout(resolve, 3_500));
  const late = fleet.told
    .filter((one) => one.is === "start")
    .map((one) => one.at - (dueAt.get(one.n) ?? Number.NaN));
  const figures = { jobs: late.length, p50: percentile(late, 0.5), p99: percentile(late, 0.99) };
  process.stdout.write(`timers, ms after their time: ${JSON.stringify(figures)}\n`);
  expect(late.length).toBe(40);
  expect(figures.p50).toBeLessThan(20);
}, 60_000);

/** Enqueues for later and asks the database when that is: its clock counts, and on this machine it is ours. */
async function dueIn(
  inbox: Awaited<ReturnType<Awaited<ReturnType<typeof setup>>["queue"]>>,
  n: number,
  delayMs: number,
): Promise<{ readonly availableAt: number }> {
  const { id } = await inbox.enqueue("work", { n }, { delayMs, partitionKey: `timer:${n}` });
  const job = await inbox.get(id);
  return { availableAt: job?.availableAt.getTime() ?? Number.NaN };
}
