import { describe, expect, it } from "vitest";
import { instrumentName } from "../../../src/telemetry/names.js";
import { producerOf, traceHeaders } from "../../../src/telemetry/trace-headers.js";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${spanId}-01`;

it("a span context comes back from the headers as it was", () => {
  expect(traceHeaders({ traceId, spanId, traceFlags: 1 }, 1)).toEqual({ traceparent });
  expect(producerOf({ traceparent, tracestate: "a=1" })).toEqual({
    span: { traceId, spanId, traceFlags: 1, isRemote: true },
    state: "a=1",
    isBatch: false,
  });
  const batch = traceHeaders({ traceId, spanId, traceFlags: 1 }, 3);
  expect(producerOf(batch)).toMatchObject({ span: { traceFlags: 1 }, isBatch: true });
  const dropped = traceHeaders({ traceId, spanId, traceFlags: 0 }, 1);
  expect(producerOf(dropped)).toMatchObject({ span: { traceFlags: 0 }, isBatch: false });
});

it("a batch whose span is not recorded has no headers", () => {
  expect(traceHeaders({ traceId, spanId, traceFlags: 0 }, 3)).toEqual({});
});

it("a span of no trace adds no header, and a trace state that is too long is left out", () => {
  expect(traceHeaders({ traceId: "0".repeat(32), spanId: "0".repeat(16), traceFlags: 0 }, 1)).toEqual({});
  const withState = (text: string): object => {
    const traceState = { serialize: () => text } as never;
    return traceHeaders({ traceId, spanId, traceFlags: 1, traceState }, 1);
  };
  expect(withState("a=1")).toEqual({ traceparent, tracestate: "a=1" });
  expect(withState(`a=${"1".repeat(511)}`)).toEqual({ traceparent });
});

describe("headers that name no span are ignored", () => {
  it.each([
    {},
    { traceparent: 1 },
    { traceparent: "" },
    { traceparent: traceparent.toUpperCase() },
    { traceparent: `ff${traceparent.slice(2)}` },
    { traceparent: `${traceparent}-more` },
    { traceparent: `00-${"0".repeat(32)}-${spanId}-01` },
    { traceparent: `00-${traceId}-${"0".repeat(16)}-01` },
  ])("%j", (headers) => {
    expect(producerOf(headers)).toBeNull();
  });

  it("of a later version only what is known is read", () => {
    expect(producerOf({ traceparent: `01${traceparent.slice(2)}-more` })?.span.spanId).toBe(spanId);
  });
});

it("an instrument has the unit apart from its name", () => {
  expect(instrumentName("leasehold_oldest_due_age_seconds")).toEqual({
    name: "leasehold.oldest_due_age",
    unit: "s",
  });
  expect(instrumentName("leasehold_table_bytes")).toEqual({ name: "leasehold.table", unit: "By" });
  expect(instrumentName("leasehold_jobs_completed_total")).toEqual({
    name: "leasehold.jobs_completed",
    unit: "",
  });
});
