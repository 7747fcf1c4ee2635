import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { Leasehold } from "../../src/index.js";
import { surroundingsOf } from "../../src/leasehold.js";
import { type InstrumentOptions, instrument } from "../../src/opentelemetry.js";
import { setup } from "../support/world.js";
import { startWorker, until } from "./worker-world.js";

beforeAll(() => {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});

interface Traced {
  /** The spans of a name that have ended, oldest first. */
  spans(name: string): ReadableSpan[];
  readonly tracer: api.Tracer;
}

function traced(lh: Leasehold, options: Partial<InstrumentOptions> = {}): Traced {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  onTestFinished(() => tracerProvider.shutdown());
  instrument(lh, { api, tracerProvider, metrics: false, ...options });
  return {
    spans: (name) => exporter.getFinishedSpans().filter((span) => span.name === name),
    tracer: tracerProvider.getTracer("test"),
  };
}

test("a handler on another connection continues the trace of the enqueue, and passes it on", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await world.queue("outbox");
  const producer = traced(world.lh);
  const other = await world.connect({ workerId: "b" });
  const worker = traced(other);
  const outbox = await other.queue("outbox");
  await startWorker(other, { k: () => outbox.enqueue("next", 1) });
  const request = producer.tracer.startSpan("request");
  const { id } = await api.context.with(api.trace.setSpan(api.context.active(), request), () =>
    inbox.enqueue("k", 1, { headers: { mine: "yes" } }),
  );
  request.end();
  await until("its span has ended", () => worker.spans("process inbox").length === 1);
  const [sent] = producer.spans("enqueue inbox");
  const [processed] = worker.spans("process inbox");
  const [passedOn] = worker.spans("enqueue outbox");
  expect(sent?.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
  expect(sent).toMatchObject({ kind: api.SpanKind.PRODUCER, status: { code: api.SpanStatusCode.UNSET } });
  expect(processed?.kind).toBe(api.SpanKind.CONSUMER);
  expect(processed?.spanContext().traceId).toBe(request.spanContext().traceId);
  expect(processed?.parentSpanContext?.spanId).toBe(sent?.spanContext().spanId);
  expect(processed?.links).toEqual([]);
  expect(processed?.attributes).toEqual({
    "messaging.system": "leasehold",
    "messaging.destination.name": "inbox",
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
    "messaging.message.id": id,
    "leasehold.job.kind": "k",
    "leasehold.job.attempt": 1,
  });
  expect(passedOn?.parentSpanContext?.spanId).toBe(processed?.spanContext().spanId);
});

test("every attempt of a job is a child of the span that enqueued it, with its error", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const { spans } = traced(world.lh);
  await startWorker(world.lh, {
    k: {
      retryDelayMs: () => 0,
      handle: async (job) => {
        if (job.attempt === 1) throw new TypeError("not yet");
        if (job.attempt === 2) await Promise.reject("text");
      },
    },
  });
  await inbox.enqueue("k", 1);
  await until("three attempts have ended", () => spans("process inbox").length === 3);
  const [sent] = spans("enqueue inbox");
  const attempts = spans("process inbox");
  expect(attempts.map((span) => span.attributes["leasehold.job.attempt"])).toEqual([1, 2, 3]);
  expect(new Set(attempts.map((span) => span.parentSpanContext?.spanId))).toEqual(
    new Set([sent?.spanContext().spanId]),
  );
  expect(attempts.map((span) => span.attributes["error.type"])).toEqual(["TypeError", "_OTHER", undefined]);
  expect(attempts[0]?.status).toEqual({ code: api.SpanStatusCode.ERROR, message: "TypeError: not yet" });
  expect(attempts[0]?.events[0]?.attributes?.["exception.type"]).toBe("TypeError");
  expect(attempts[2]?.status.code).toBe(api.SpanStatusCode.UNSET);
});

test("jobs of a batch, and those that waited, are linked to the span that enqueued them", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const { spans } = traced(world.lh);
  const { id: late } = await inbox.enqueue("k", 0);
  await world.sql("update leasehold.inbox set created_at = created_at - interval '6 minutes'");
  await inbox.enqueueMany([1, 2].map((payload) => ({ kind: "k", payload })));
  await startWorker(world.lh, { k: () => {} });
  await until("all have ended", () => spans("process inbox").length === 3);
  const [single, batch] = spans("enqueue inbox");
  expect(batch?.attributes["messaging.batch.message_count"]).toBe(2);
  for (const span of spans("process inbox")) {
    const producer = span.attributes["messaging.message.id"] === late ? single : batch;
    expect(span.parentSpanContext).toBeUndefined();
    expect(span.links.map(({ context }) => context.spanId)).toEqual([producer?.spanContext().spanId]);
    expect(span.spanContext().traceId).not.toBe(producer?.spanContext().traceId);
  }
});

test("with requireParentSpan there are spans inside of recorded traces only", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const { spans, tracer } = traced(world.lh, { requireParentSpan: true });
  const within = (span: api.Span, payload: number): Promise<unknown> =>
    api.context.with(api.trace.setSpan(api.ROOT_CONTEXT, span), () => inbox.enqueue("k", payload));
  const request = tracer.startSpan("request");
  const unrecorded = api.trace.wrapSpanContext({ ...request.spanContext(), traceFlags: api.TraceFlags.NONE });
  await inbox.enqueue("k", 1);
  await within(unrecorded, 2);
  await within(request, 3);
  expect((await inbox.list()).map(({ payload, headers }) => [payload, Object.keys(headers)])).toEqual([
    [3, ["traceparent"]],
    [2, []],
    [1, []],
  ]);
  const handled: unknown[] = [];
  await startWorker(world.lh, { k: (job) => void handled.push(job.payload) });
  await until("all have ended", () => handled.length === 3);
  await until("the traced one has its span", () => spans("process inbox").length > 0);
  expect(spans("enqueue inbox")).toHaveLength(1);
  expect(spans("process inbox").map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([
    spans("enqueue inbox")[0]?.spanContext().spanId,
  ]);
});

test("with requireParentSpan a job without a trace is in none, also when its worker was started in one", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const outbox = await world.queue("outbox");
  const { tracer } = traced(world.lh, { requireParentSpan: true });
  await api.context.with(api.trace.setSpan(api.ROOT_CONTEXT, tracer.startSpan("deploy")), () =>
    startWorker(world.lh, { k: (job) => outbox.enqueue("next", job.payload) }),
  );
  await inbox.enqueue("k", 1);
  await until("it has passed something on", async () => (await outbox.list()).length === 1);
  expect((await outbox.list())[0]?.headers).toEqual({});
});

test("a trace that the producer put into the headers is the one that counts", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const { spans } = traced(world.lh);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const { id } = await inbox.enqueue("k", 1, { headers: { traceparent, tracestate: "vendor=1" } });
  expect((await inbox.get(id))?.headers).toEqual({ traceparent, tracestate: "vendor=1" });
  await startWorker(world.lh, { k: () => {} });
  await until("it has ended", () => spans("process inbox").length === 1);
  const [processed] = spans("process inbox");
  expect(processed?.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
  expect(processed?.spanContext().traceState?.serialize()).toBe("vendor=1");
});

test("an enqueue that fails is an error of its span", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const { spans } = traced(world.lh);
  await expect(inbox.enqueue("", 1)).rejects.toThrow();
  expect(spans("enqueue inbox")[0]?.status.code).toBe(api.SpanStatusCode.ERROR);
  expect(spans("enqueue inbox")[0]?.attributes["error.type"]).toBe("InvalidKeyError");
});

test("a span processor that throws costs no job", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const broken = (): never => {
    throw new Error("broken");
  };
  const resolved = async (): Promise<void> => {};
  const processor = { onStart: broken, onEnd: broken, forceFlush: resolved, shutdown: resolved };
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [processor] });
  instrument(world.lh, { api, tracerProvider, metrics: false });
  await startWorker(world.lh, { k: () => {} });
  await inbox.enqueue("k", 1);
  await until(
    "it is done",
    async () => (await inbox.stats()).pending + (await inbox.stats()).processing === 0,
  );
});

test("without instrument() and after its stop() jobs have no headers and no span", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const { id: before } = await inbox.enqueue("k", 1);
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const instrumentation = instrument(world.lh, { api, tracerProvider });
  expect(() => instrument(world.lh, { api })).toThrow(/already/);
  instrumentation.stop();
  const { id: after } = await inbox.enqueue("k", 2);
  expect((await inbox.get(before))?.headers).toEqual({});
  expect((await inbox.get(after))?.headers).toEqual({});
  const worker = await startWorker(world.lh, { k: () => {} });
  await until(
    "both are done",
    async () => (await inbox.stats()).pending + (await inbox.stats()).processing === 0,
  );
  await worker.stop();
  expect(exporter.getFinishedSpans()).toEqual([]);
  instrument(world.lh, { api, tracerProvider }).stop();
});

test("a provider that throws leaves nothing behind, and instrument() may be called again", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  onTestFinished(() => tracerProvider.shutdown());
  const fail = (): never => {
    throw new Error("no meter");
  };
  expect(() => instrument(world.lh, { api, tracerProvider, meterProvider: { getMeter: fail } })).toThrow(
    "no meter",
  );
  await inbox.enqueue("k", 1);
  expect(exporter.getFinishedSpans()).toEqual([]);
  // One that fails late: instruments are made, and the callback is refused.
  const callbacks = new Set<unknown>();
  const { events } = surroundingsOf(world.lh);
  const meter = {
    ...api.createNoopMeter(),
    createObservableCounter: () => ({}),
    createObservableGauge: () => ({}),
    createCounter: () => ({ add: () => {} }),
    createHistogram: fail,
    addBatchObservableCallback: (callback: unknown) => callbacks.add(callback),
    removeBatchObservableCallback: (callback: unknown) => callbacks.delete(callback),
  };
  const meterProvider = { getMeter: () => meter } as never;
  expect(() => instrument(world.lh, { api, tracerProvider, meterProvider })).toThrow("no meter");
  expect(callbacks.size).toBe(0);
  expect(events.isHeard("job:handled")).toBe(false);
  instrument(world.lh, { api, tracerProvider, metrics: false });
  await inbox.enqueue("k", 2);
  expect(exporter.getFinishedSpans()).toHaveLength(1);
});

test("what can't be instrumented is refused with its name", async () => {
  const world = await setup();
  const refused = (options: object): void => {
    expect(() => instrument(world.lh, options as InstrumentOptions)).toThrow(
      expect.objectContaining({ code: "LH_INVALID_OPTION" }),
    );
  };
  refused({});
  refused({ api: {} });
  refused({ api, tracerProvider: {} });
  refused({ api, meterProvider: null });
  refused({ api, linkAfterMs: -1 });
  refused({ api, trace: true });
  expect(() => instrument({} as Leasehold, { api })).toThrow(/connect\(\)/);
});
