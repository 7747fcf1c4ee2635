import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import type { Leasehold } from "../../src/index.js";
import { createMetrics } from "../../src/metrics.js";
import { instrument } from "../../src/opentelemetry.js";

const scrapeEveryMs = 1_000;

/** Scrapes the metrics as Prometheus would, until the process ends. */
export function scrapeMetrics(lh: Leasehold): void {
  const metrics = createMetrics(lh);
  setInterval(() => void metrics.text(), scrapeEveryMs);
}

export function trace(lh: Leasehold, share: number): void {
  useContext();
  instrument(lh, { api, tracerProvider: providerOf(share), metrics: false });
}

/** This share of spans is recorded, batched, and thrown away where it would be sent. */
function providerOf(share: number): BasicTracerProvider {
  const exporter = {
    export: (_spans: unknown, done: (result: { code: number }) => void): void => done({ code: 0 }),
    shutdown: async (): Promise<void> => {},
  };
  return new BasicTracerProvider({
    sampler: new TraceIdRatioBasedSampler(share),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
}

/** As in a service whose requests are sampled: one call of a hundred is inside of a recorded span, and spans outside of these are left out. */
export function traceRequests(lh: Leasehold): <T>(call: () => T) => T {
  useContext();
  const tracerProvider = providerOf(1);
  instrument(lh, { api, tracerProvider, metrics: false, requireParentSpan: true });
  const tracer = tracerProvider.getTracer("bench");
  let calls = 0;
  return (call) => {
    if (calls++ % 100 !== 0) return call();
    const span = tracer.startSpan("request");
    try {
      return api.context.with(api.trace.setSpan(api.ROOT_CONTEXT, span), call);
    } finally {
      span.end();
    }
  };
}

/** As in a process whose requests are traced: from its first use on, the context manager follows every promise. */
export function useContext(): void {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.context.with(api.ROOT_CONTEXT, () => {});
}
