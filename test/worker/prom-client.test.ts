import { Counter, Registry } from "prom-client";
import { expect, test } from "vitest";
import { createMetrics } from "../../src/metrics.js";
import { setup } from "../support/world.js";
import { startWorker, until } from "./worker-world.js";

test("a registry of prom-client shows our metrics beside the user's own, with the values of our text", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await startWorker(world.lh, { k: () => {} });
  await inbox.enqueueMany(Array.from({ length: 20 }, (_, n) => ({ kind: "k", payload: n })));
  const registry = new Registry();
  new Counter({ name: "orders_total", help: "Orders.", registers: [registry] }).inc(7);
  const metrics = createMetrics(world.lh, { cacheMs: 3_600_000 });
  metrics.register(registry);
  let [before, theirs] = ["", ""];
  const handled = 'leasehold_handler_duration_seconds_count{queue="inbox",kind="k"} 20\n';
  await until("all handlers were counted, and nothing was between two scrapes", async () => {
    before = await metrics.text();
    theirs = await registry.metrics();
    return before.includes(handled) && (await metrics.text()) === before;
  });
  const lines = samples(theirs);
  expect(lines.filter((line) => line.startsWith("leasehold_"))).toEqual(samples(before));
  expect(lines).toContain("orders_total 7");
  expect(lines).toContain('leasehold_jobs_completed_total{queue="inbox"} 20');
  expect(lines.length).toBeGreaterThan(100);
});

test("a scrape of a registry collects once", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const metrics = createMetrics(world.lh, { cacheMs: 0 });
  const registry = new Registry();
  metrics.register(registry);
  const statements = async (scrape: () => Promise<string>): Promise<number> => {
    const count = async (): Promise<number> => {
      const own = await createMetrics(world.lh, { system: false }).text();
      return Number(/leasehold_statements_total (\d+)/.exec(own)?.[1]);
    };
    const before = await count();
    await scrape();
    return (await count()) - before;
  };
  expect(await statements(() => registry.metrics())).toBe(await statements(() => metrics.text()));
});

test("a registry in the OpenMetrics format has the names of our text", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const metrics = createMetrics(world.lh);
  const registry = new Registry();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
  metrics.register(registry);
  const names = (text: string): string[] => samples(text).map((line) => line.replace(/ \S+$/, ""));
  // A second scrape: the registry changes the names of counters at the first.
  await registry.metrics();
  expect(names(await registry.metrics())).toEqual(names(await metrics.text()));
});

/** The lines of the exposition that hold a value, sorted: a registry has an order of its own. */
function samples(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .sort();
}
