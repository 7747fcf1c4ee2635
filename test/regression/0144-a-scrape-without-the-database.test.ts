import { expect, onTestFinished, test } from "vitest";
import { type Leasehold, surroundingsOf } from "../../src/leasehold.js";
import { createMetrics } from "../../src/metrics.js";
import { defaults } from "../../src/settings.js";
import { blackHoleProxy } from "../support/black-hole-proxy.js";
import { heldClock } from "../support/held-clock.js";
import { setup } from "../support/world.js";
import { startWorker, until } from "../worker/worker-world.js";

/**
 * A scrape failed as a whole while the database was away, after 10 tries of up to 60 s: the metrics of the process, from which the alert LeaseholdUntrusted is made, were missing just then. A
 * collection that took longer than cacheMs was begun again beside itself by each scrape.
 */

test("with a database that is silent a scrape gives the metrics of the process within its limit", async () => {
  const clock = heldClock({ isStill: true });
  const world = await setup({ workerId: "a", clock, ttlMs: 600_000 });
  await world.queue();
  const proxy = await blackHoleProxy(world.url);
  onTestFinished(() => proxy.close());
  const lh = await world.connect({ url: proxy.url, directUrl: world.url });
  await startWorker(lh, { k: () => {} });
  const metrics = createMetrics(lh, { cacheMs: 0 });
  expect(await metrics.text()).toMatch(/^leasehold_system_metrics_up 1$/m);
  proxy.swallow();
  const waits = (): number => clock.held().filter((ms) => ms === defaults.metricsTimeoutMs).length;
  const before = waits();
  const scrape = metrics.text();
  await until("the scrape waits", () => waits() > before);
  clock.elapse(defaults.metricsTimeoutMs);
  const text = await scrape;
  for (const line of [
    /^leasehold_system_metrics_up 0$/m,
    /^leasehold_trusted 1$/m,
    /^leasehold_statements_failed_total /m,
    /^leasehold_pool_connections/m,
  ])
    expect(text).toMatch(line);
  expect(text).not.toContain("leasehold_jobs{");
  proxy.dropServerEnds();
  proxy.letThrough();
  await until("the next scrape has it all", async () => (await metrics.text()).includes("leasehold_jobs{"));
});

async function statementsOf(lh: Leasehold, work: () => Promise<unknown>): Promise<number> {
  const { database } = surroundingsOf(lh);
  const before = database.counts.statements;
  await work();
  return database.counts.statements - before;
}

test("scrapes that come during a collection share it", async () => {
  const { lh, queue } = await setup();
  await queue();
  const { collect } = createMetrics(lh, { cacheMs: 0 });
  const alone = await statementsOf(lh, collect);
  expect(await statementsOf(lh, () => Promise.all([collect(), collect(), collect()]))).toBe(alone);
});

test("what was collected is used again for cacheMs from the end of the collection", async () => {
  const clock = heldClock({ isStill: true });
  const { lh, queue } = await setup({ clock });
  await queue();
  const { collect } = createMetrics(lh, { cacheMs: 1_000 });
  const first = collect();
  clock.elapse(2_000);
  await first;
  expect(await statementsOf(lh, collect)).toBe(0);
  clock.elapse(1_000);
  expect(await statementsOf(lh, collect)).toBeGreaterThan(0);
});
