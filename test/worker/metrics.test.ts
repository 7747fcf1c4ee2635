import { expect, test } from "vitest";
import { deadLetter } from "../../src/index.js";
import { createMetrics, definitions, healthHandler, type Metrics } from "../../src/metrics.js";
import { setup } from "../support/world.js";
import { heard, startWorker, until } from "./worker-world.js";

/** One sample, by its line in the text that Prometheus scrapes. */
async function sampleOf(metrics: Metrics, line: string): Promise<number | null> {
  const found = (await metrics.text()).split("\n").find((one) => one.startsWith(`${line} `));
  return found === undefined ? null : Number(found.slice(line.length + 1));
}

test("what is scraped equals what is in the tables", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const metrics = createMetrics(world.lh, { cacheMs: 0 });
  await startWorker(world.lh, {
    ok: () => {},
    dies: () => {
      throw deadLetter("no");
    },
  });
  await inbox.enqueueMany(
    Array.from({ length: 30 }, (_, n) => ({ kind: n % 10 === 0 ? "dies" : "ok", payload: n })),
  );
  await inbox.enqueue("ok", 1, { delayMs: 600_000 });
  await until(
    "all are done",
    async () => (await inbox.stats()).pending + (await inbox.stats()).processing === 0,
  );
  const handled = 'leasehold_handler_duration_seconds_count{queue="inbox",kind="ok"}';
  await until("all were counted", async () => (await sampleOf(metrics, handled)) === 27);
  const [{ done } = { done: 0 }] = await world.sql<{ done: number }>(
    "select count(*)::int as done from leasehold.inbox_archive",
  );
  expect(await sampleOf(metrics, 'leasehold_jobs_completed_total{queue="inbox"}')).toBe(done);
  expect(await sampleOf(metrics, 'leasehold_jobs_dead_lettered_total{queue="inbox"}')).toBe(3);
  expect(await sampleOf(metrics, 'leasehold_jobs{queue="inbox",status="dead_letter"}')).toBe(3);
  expect(await sampleOf(metrics, 'leasehold_jobs{queue="inbox",status="scheduled"}')).toBe(1);
  expect(
    await sampleOf(metrics, 'leasehold_handler_duration_seconds_bucket{queue="inbox",kind="ok",le="+Inf"}'),
  ).toBe(27);
  expect(await sampleOf(metrics, 'leasehold_claim_rows_sum{queue="inbox"}')).toBe(30);
  expect(await sampleOf(metrics, 'leasehold_owned_buckets{queue="inbox"}')).toBe(360);
  expect(await sampleOf(metrics, 'leasehold_workers{state="alive"}')).toBe(1);
  expect(await sampleOf(metrics, "leasehold_trusted")).toBe(1);
  expect(await sampleOf(metrics, "leasehold_statements_total")).toBeGreaterThan(5);
});

test("every sample belongs to a metric that is defined, with its labels and no others", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const inbox = await world.lh.queue("inbox");
  const worker = await startWorker(world.lh, { k: () => {} });
  await inbox.enqueue("k", 1);
  await until("the worker has counted it", () => worker.figures?.counts.completed === 1);
  await world.lh.housekeep();
  const families = await createMetrics(world.lh).collect();
  for (const { name, type, labels: allowed, samples } of families)
    for (const { labels, suffix } of samples) {
      const names = Object.keys(labels).filter((label) => !(type === "histogram" && label === "le"));
      expect([name, names]).toEqual([name, [...allowed]]);
      expect(suffix === "").toBe(type !== "histogram");
    }
  const without = Object.keys(definitions).filter((name) => !families.some((family) => family.name === name));
  expect(without).toEqual([
    "leasehold_replica_lag_seconds",
    "leasehold_tenants_running",
    "leasehold_tenants_demoted_total",
  ]);
  for (const [name, { type }] of Object.entries(definitions))
    expect(name.endsWith("_total")).toBe(type === "counter");
});

test("what the database says is asked for once, however many scrape", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const metrics = createMetrics(world.lh);
  await metrics.text();
  const before = await sampleOf(metrics, "leasehold_statements_total");
  await Promise.all(Array.from({ length: 10 }, () => metrics.text()));
  expect(await sampleOf(metrics, "leasehold_statements_total")).toBe(before);
  const own = createMetrics(world.lh, { system: false });
  expect(await own.text()).not.toContain("leasehold_jobs{");
  expect(() => createMetrics(world.lh, { cachMs: 1 } as never)).toThrow(/did you mean cacheMs/);
});

test("a scrape is answered by GET alone", async () => {
  const world = await setup();
  await world.queue();
  const { handler } = createMetrics(world.lh, { cacheMs: 0 });
  const answer = await handler(new Request("http://localhost/metrics"));
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toContain("version=0.0.4");
  expect((await handler(new Request("http://localhost/metrics", { method: "POST" }))).status).toBe(405);
});

test("what the database refuses to tell is left out, a gauge and an event say so, and the next scrape asks again", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const failed = heard(world.lh, "activity:failed");
  const metrics = createMetrics(world.lh, { cacheMs: 0 });
  expect(await sampleOf(metrics, "leasehold_system_metrics_up")).toBe(1);
  await world.sql("alter table leasehold.workers rename to workers_gone");
  const answer = await metrics.handler(new Request("http://localhost/metrics"));
  const text = await answer.text();
  expect(answer.status).toBe(200);
  expect(text).toMatch(/^leasehold_system_metrics_up 0$/m);
  expect(text).toMatch(/^leasehold_statements_failed_total [1-9]/m);
  expect(text).not.toContain("leasehold_jobs{");
  expect(failed).toMatchObject([{ activity: "metrics", failures: 1 }]);
  await world.sql("alter table leasehold.workers_gone rename to workers");
  expect(await sampleOf(metrics, "leasehold_system_metrics_up")).toBe(1);
  const own = createMetrics(world.lh, { system: false });
  expect(await sampleOf(own, "leasehold_system_metrics_up")).toBeNull();
});

test("a process is ready while its workers are registered, trusted and can work, and live while its loops turn", async () => {
  const world = await setup({ workerId: "a", heartbeatMs: 50 });
  await world.queue();
  const probe = healthHandler(world.lh);
  const status = async (path: string): Promise<number> =>
    (await probe(new Request(`http://localhost${path}`))).status;
  expect(await status("/readyz")).toBe(200);
  const worker = await startWorker(world.lh, { k: () => {} });
  expect(await world.lh.health()).toMatchObject({ isLive: true, isReady: true });
  await world.sql("update leasehold.workers set incarnation = 'other', generation = generation + 1");
  await until("it has given way to the other process", () => worker.state === "stopped");
  expect(await status("/readyz")).toBe(503);
  expect((await world.lh.health()).checks.find(({ name }) => name === "registry")?.isOk).toBe(false);
  expect(await status("/healthz")).toBe(200);
  expect(await status("/ready"), "a mistyped path").toBe(404);
  await startWorker(world.lh, { k: () => {} });
  expect(await status("/readyz")).toBe(200);
});
