import type { SpanContext } from "./trace-api.js";

/** The headers of the W3C trace context. */
const traceParent = "traceparent";
const traceState = "tracestate";
/** Says how many jobs the producing span has, when they are several. */
const batch = "leasehold-batch";

const parentPattern = /^(?!ff)([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const noTrace = /^0+$/;
/** Longer ones may be dropped, by the recommendation. */
const stateCharsMax = 512;

/** False for a span that its sampler leaves out, and for none. */
export function isRecorded(span: SpanContext | undefined): boolean {
  return span !== undefined && (span.traceFlags & 1) === 1;
}

type Headers = Readonly<Record<string, string | number>>;
const none: Headers = Object.freeze({});

/** What tells a job's handler which span has enqueued it. Empty when nothing is traced. */
export function traceHeaders(span: SpanContext, jobs: number): Headers {
  const { traceId, spanId, traceFlags } = span;
  // A handler of a batch gets a link and decides by itself what it records; one to a span that is not recorded leads nowhere.
  const isLost = jobs > 1 && !isRecorded(span);
  if (noTrace.test(traceId) || isLost) return none;
  const state = span.traceState?.serialize() ?? "";
  return {
    [traceParent]: `00-${traceId}-${spanId}-${(traceFlags & 255).toString(16).padStart(2, "0")}`,
    ...(state === "" || state.length > stateCharsMax ? {} : { [traceState]: state }),
    ...(jobs === 1 ? {} : { [batch]: jobs }),
  };
}

/** The span that has enqueued a job, and whether it has enqueued others too; null when its headers name none. */
export interface Producer {
  readonly span: SpanContext;
  /** As text; empty when there is none. */
  readonly state: string;
  readonly isBatch: boolean;
}

export function producerOf(headers: Readonly<Record<string, unknown>>): Producer | null {
  const parent = headers[traceParent];
  const match = typeof parent === "string" ? parentPattern.exec(parent) : null;
  if (match === null) return null;
  const [, version = "", traceId = "", spanId = "", flags = "", more] = match;
  if (noTrace.test(traceId) || noTrace.test(spanId) || (version === "00" && more !== undefined)) return null;
  const state = headers[traceState];
  return {
    span: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true },
    state: typeof state === "string" && state.length <= stateCharsMax ? state : "",
    isBatch: batch in headers,
  };
}
