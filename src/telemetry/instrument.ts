import { InvalidOptionError } from "../errors.js";
import { type Leasehold, surroundingsOf } from "../leasehold.js";
import { createMetrics } from "../metrics/create-metrics.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { defaults, flag, version, wholeNumber } from "../settings.js";
import type { MeterProvider } from "./meter-api.js";
import { addObservables, addRecorders } from "./meters.js";
import type { OpenTelemetryApi, TracerProvider } from "./trace-api.js";
import { addTraces } from "./traces.js";

export interface InstrumentOptions {
  /** Your `@opentelemetry/api`: `import * as api from "@opentelemetry/api"`. */
  readonly api: OpenTelemetryApi;
  /** The registered one when left out. */
  readonly meterProvider?: MeterProvider | undefined;
  /** The registered one when left out. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** False for traces alone. */
  readonly metrics?: boolean | undefined;
  /** False for metrics alone. */
  readonly traces?: boolean | undefined;
  /** Whether depths, ages and sizes are asked of the database, as in createMetrics(); true. */
  readonly system?: boolean | undefined;
  /** A job that waited longer than this is linked to the span that enqueued it, not a child of it; 5 minutes. */
  readonly linkAfterMs?: number | undefined;
  /** True for spans inside of recorded traces alone: enqueues within a recorded span, and the attempts of their jobs. All others cost nothing. False when left out. */
  readonly requireParentSpan?: boolean | undefined;
}

export interface Instrumentation {
  /** Takes everything back. lh.close() does it too, after the workers have stopped. */
  stop(): void;
}

const optionNames: OptionNames<InstrumentOptions> = Object.freeze({
  api: true,
  meterProvider: true,
  tracerProvider: true,
  metrics: true,
  traces: true,
  system: true,
  linkAfterMs: true,
  requireParentSpan: true,
});

/** Metrics and traces of a connection through OpenTelemetry, from now on; once for each connection. */
export function instrument(lh: Leasehold, options: InstrumentOptions): Instrumentation {
  const around = surroundingsOf(lh);
  const checked = withKnownNames("instrument()", options, optionNames);
  const api = checkedApi(checked.api);
  const linkAfterMs = wholeNumber("linkAfterMs", checked.linkAfterMs, {
    fallback: defaults.traceLinkAfterMs,
    min: 0,
    max: defaults.traceLinkAfterMsMax,
  });
  const isSystem = flag("system", checked.system, true);
  const [hasMetrics, hasTraces] = [
    flag("metrics", checked.metrics, true),
    flag("traces", checked.traces, true),
  ];
  const requiresParent = flag("requireParentSpan", checked.requireParentSpan, false);
  const tracers = providerOf("tracerProvider", checked.tracerProvider, "getTracer");
  const meters = providerOf("meterProvider", checked.meterProvider, "getMeter");
  const removers: (() => void)[] = [];
  const stop = (): void => {
    for (const remove of removers.splice(0)) remove();
  };
  const part = { isWatching: true, stop: async () => stop() };
  removers.push(around.attach("OpenTelemetry instrumentation", part));
  try {
    if (hasTraces) {
      const tracer = (tracers ?? api.trace.getTracerProvider()).getTracer("leasehold", version);
      removers.push(addTraces(around.hooks, { api, tracer, linkAfterMs, requiresParent }));
    }
    if (hasMetrics) {
      const meter = (meters ?? api.metrics.getMeterProvider()).getMeter("leasehold", version);
      removers.push(addObservables(createMetrics(lh, { system: isSystem }), meter));
      removers.push(addRecorders(lh, meter));
    }
  } catch (error) {
    stop(); // Providers are the user's, and may throw.
    throw error;
  }
  return Object.freeze({ stop });
}

function checkedApi(api: OpenTelemetryApi): OpenTelemetryApi {
  const parts = ["metrics", "trace", "context", "ROOT_CONTEXT", "SpanKind", "SpanStatusCode"] as const;
  if (
    typeof api !== "object" ||
    api === null ||
    parts.some((part) => typeof api[part] !== "object") ||
    typeof api.createTraceState !== "function"
  )
    throw new InvalidOptionError("api", api, 'the module: import * as api from "@opentelemetry/api"');
  return api;
}

function providerOf<P extends object>(option: string, given: P | undefined, method: keyof P): P | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== "object" || given === null || typeof given[method] !== "function")
    throw new InvalidOptionError(option, given, `an object with ${String(method)}()`);
  return given;
}
