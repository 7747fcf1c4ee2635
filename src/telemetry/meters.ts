import { type Leasehold, surroundingsOf } from "../leasehold.js";
import type { Metrics } from "../metrics/create-metrics.js";
import { definitions, type MetricName } from "../metrics/definitions.js";
import { durationBoundsMs } from "../work/histogram.js";
import type { Attributes, BatchResult, HistogramInstrument, Meter, Observable } from "./meter-api.js";
import { durationBoundaries, histogramNames, instrumentName, messaging, systemName } from "./names.js";

const perSecond = 1 / 1_000;

/** Gauges and counters of definitions.ts: observed at each collection, all in one callback. Returns what ends that. */
export function addObservables(metrics: Metrics, meter: Meter): () => void {
  const observables = new Map<MetricName, Observable>();
  for (const [key, { type, help }] of Object.entries(definitions)) {
    if (type === "histogram") continue;
    const { name, unit } = instrumentName(key as MetricName);
    const description = { description: help, unit };
    observables.set(
      key as MetricName,
      type === "counter"
        ? meter.createObservableCounter(name, description)
        : meter.createObservableGauge(name, description),
    );
  }
  const observe = async (result: BatchResult): Promise<void> => {
    for (const { name, samples } of await metrics.collect()) {
      const observable = observables.get(name);
      if (observable === undefined) continue;
      for (const { labels, value } of samples) result.observe(observable, value, labels);
    }
  };
  const all = [...observables.values()];
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}

/** Histograms, and the counters of the messaging conventions: recorded as things happen. Returns what ends that. */
export function addRecorders(lh: Leasehold, meter: Meter): () => void {
  const { events, hooks, clock } = surroundingsOf(lh);
  const operations = durations(meter, messaging.operationDuration, "Duration of claims and enqueues.");
  const handlers = durations(meter, messaging.processDuration, "Duration of handlers.");
  const rows = meter.createHistogram(histogramNames.leasehold_claim_rows, {
    description: definitions.leasehold_claim_rows.help,
    unit: "{job}",
  });
  const rounds = meter.createHistogram(histogramNames.leasehold_housekeeping_duration_seconds, {
    description: definitions.leasehold_housekeeping_duration_seconds.help,
    unit: "s",
    advice: { explicitBucketBoundaries: roundBoundaries },
  });
  const sent = meter.createCounter(messaging.sent, { unit: "{message}", description: "Jobs enqueued." });
  const consumed = meter.createCounter(messaging.consumed, {
    unit: "{message}",
    description: "Jobs claimed.",
  });
  const attributesOf = remembered();
  const removers = [
    events.on("claim:finished", ({ queue, cause, rows: count, tookMs }) => {
      operations.record(tookMs * perSecond, attributesOf(queue, "claim", { [messaging.cause]: cause }));
      rows.record(count, attributesOf(queue, "claim"));
      consumed.add(count, attributesOf(queue, "claim"));
    }),
    events.on("job:handled", ({ queue, kind, tookMs }) =>
      handlers.record(tookMs * perSecond, attributesOf(queue, "process", { [messaging.kind]: kind })),
    ),
    events.on("jobs:enqueued", ({ queue, count }) => sent.add(count, attributesOf(queue, "enqueue"))),
    events.on("housekeeping:finished", ({ tookMs }) => rounds.record(tookMs * perSecond)),
    hooks.onEnqueue(({ queue }) => {
      const startedAtMs = clock.monotonicMs();
      const end = (error: unknown): void => {
        const failed = error === null ? {} : { [messaging.errorType]: errorType(error) };
        operations.record(
          (clock.monotonicMs() - startedAtMs) * perSecond,
          attributesOf(queue, "enqueue", failed),
        );
      };
      return { headers: {}, end };
    }),
  ];
  return () => {
    for (const remove of removers) remove();
  };
}

/** One bound for each doubling. */
const roundBoundaries: number[] = durationBoundsMs.filter((_, n) => n % 4 === 0).map((ms) => ms * perSecond);

function durations(meter: Meter, name: string, description: string): HistogramInstrument {
  const advice = { explicitBucketBoundaries: [...durationBoundaries] };
  return meter.createHistogram(name, { unit: "s", description, advice });
}

type AttributesOf = (queue: string, operation: string, more?: Attributes) => Attributes;

/** The same object for the same attributes: one is asked for at every job. Queues, kinds, causes and errors' names are few. */
function remembered(): AttributesOf {
  const known = new Map<string, Attributes>();
  return (queue, operation, more = {}) => {
    const key = `${queue} ${operation} ${Object.values(more)[0] ?? ""}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const attributes = Object.freeze({
      [messaging.system]: systemName,
      [messaging.destination]: queue,
      [messaging.operation]: operation,
      ...more,
    });
    known.set(key, attributes);
    return attributes;
  };
}

function errorType(error: unknown): string {
  return error instanceof Error ? error.name : "_OTHER";
}
