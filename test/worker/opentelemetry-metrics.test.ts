import * as api from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { expect, onTestFinished, test } from "vitest";
import { createMetrics, definitions } from "../../src/metrics.js";
import { instrument } from "../../src/opentelemetry.js";
import { histogramNames, instrumentName } from "../../src/telemetry/names.js";
import { setup } from "../support/world.js";
import { gate, startWorker, until } from "./worker-world.js";

function meters(): { readonly meterProvider: MeterProvider; collected(): Promise<readonly MetricData[]> } {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  // Collected when asked for only.
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => meterProvider.shutdown());
  return {
    meterProvider,
    collected: async () => {
      await reader.forceFlush();
      return (
        exporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? []
      );
    },
  };
}

/** Points of instruments by name and attributes; of a histogram its count. */
function valuesOf(metrics: readonly MetricData[]): Map<string, number> {
  const values = metrics.flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(({ attributes, value }): [string, number] => [
      `${descriptor.name} ${JSON.stringify(attributes)}`,
      typeof value === "number" ? value : (value as { readonly count: number }).count,
    ]),
  );
  return new Map(values);
}

/** Attributes of a point of the messaging conventions. */
function of(operation: string, more = {}): string {
  return JSON.stringify({
    "messaging.system": "leasehold",
    "messaging.destination.name": "inbox",
    "messaging.operation.name": operation,
    ...more,
  });
}

test("every metric is there under the name that a Prometheus exporter turns back, with the values of our text", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const { meterProvider, collected } = meters();
  instrument(world.lh, { api, meterProvider, traces: false });
  await startWorker(world.lh, { k: () => {} });
  await inbox.enqueueMany(Array.from({ length: 20 }, (_, n) => ({ kind: "k", payload: n })));
  await inbox.enqueue("k", 1);
  await expect(inbox.enqueue("", 1)).rejects.toThrow();
  await until(
    "all are done",
    async () => (await inbox.stats()).pending + (await inbox.stats()).processing === 0,
  );
  await world.lh.housekeep();
  const handled = of("process", { "leasehold.job.kind": "k" });
  const own = createMetrics(world.lh, { system: false });
  const ours = async (): Promise<Map<string, number>> => {
    const families = (await own.collect()).filter(({ type }) => type !== "histogram");
    return new Map(
      families.flatMap(({ name, samples }) =>
        samples.map(({ labels, value }): [string, number] => [
          `${instrumentName(name).name} ${JSON.stringify(labels)}`,
          value,
        ]),
      ),
    );
  };
  let [before, after, metrics] = [new Map<string, number>(), new Map<string, number>(), await collected()];
  await until("all handlers were counted, and nothing was counted meanwhile", async () => {
    before = await ours();
    metrics = await collected();
    after = await ours();
    const isDone = valuesOf(metrics).get(`messaging.process.duration ${handled}`) === 21;
    return isDone && [...before].every(([name, value]) => after.get(name) === value);
  });
  const values = valuesOf(metrics);
  for (const [name, value] of before) expect([name, values.get(name)]).toEqual([name, value]);
  expect(values.get('leasehold.jobs {"queue":"inbox","status":"pending"}')).toBe(0);
  expect(values.get('leasehold.jobs_completed {"queue":"inbox"}')).toBe(21);
  expect(values.get(`messaging.client.sent.messages ${of("enqueue")}`)).toBe(21);
  expect(values.get(`messaging.client.consumed.messages ${of("claim")}`)).toBe(21);
  expect(values.get(`messaging.client.operation.duration ${of("enqueue")}`)).toBe(2);
  const failed = of("enqueue", { "error.type": "InvalidKeyError" });
  expect(values.get(`messaging.client.operation.duration ${failed}`)).toBe(1);
  const claims = [...values].filter(
    ([name]) => name.startsWith("messaging.client.operation.duration") && name.includes('"claim"'),
  );
  expect(claims.reduce((sum, [, count]) => sum + count, 0)).toBe(
    values.get(`leasehold.claim_rows ${of("claim")}`),
  );
  expect(values.get("leasehold.housekeeping_duration {}")).toBeGreaterThan(0);
  const known = new Set(metrics.map(({ descriptor }) => descriptor.name));
  const missing = Object.entries(definitions)
    .map(([name, { type }]) =>
      type === "histogram"
        ? histogramNames[name as keyof typeof histogramNames]
        : instrumentName(name as keyof typeof definitions).name,
    )
    .filter((name) => !known.has(name));
  expect(missing).toEqual([
    "leasehold.replica_lag",
    "leasehold.tenants_running",
    "leasehold.tenants_demoted",
  ]);
});

test("a handler that ends while the connection is closed is in the metrics", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const lh = await world.connect({ workerId: "a" });
  const { meterProvider, collected } = meters();
  instrument(lh, { api, meterProvider, traces: false, system: false });
  const { passed, open } = gate();
  let isRunning = false;
  const worker = await startWorker(lh, {
    k: async () => {
      isRunning = true;
      await passed;
    },
  });
  await inbox.enqueue("k", 1);
  await until("it runs", () => isRunning);
  const closed = lh.close();
  await until("it drains", () => worker.state === "draining");
  open();
  await closed;
  const handled = of("process", { "leasehold.job.kind": "k" });
  expect(valuesOf(await collected()).get(`messaging.process.duration ${handled}`)).toBe(1);
});
