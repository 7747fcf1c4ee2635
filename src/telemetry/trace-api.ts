/**
 * What we use of the module @opentelemetry/api, by its shape. The user hands the module over: a package that imports it by itself may get a second copy, whose spans and
 * contexts the user's SDK does not know.
 */
import type { MeterProvider } from "./meter-api.js";

export interface OpenTelemetryApi {
  readonly metrics: { getMeterProvider(): MeterProvider };
  readonly trace: {
    getTracerProvider(): TracerProvider;
    setSpan(context: object, span: Span): object;
    setSpanContext(context: object, spanContext: SpanContext): object;
    getSpanContext(context: object): SpanContext | undefined;
  };
  readonly context: { active(): object; with<T>(context: object, work: () => T): T };
  readonly ROOT_CONTEXT: object;
  readonly SpanKind: { readonly PRODUCER: number; readonly CONSUMER: number };
  readonly SpanStatusCode: { readonly ERROR: number };
  createTraceState(text?: string): TraceState;
}

export interface TracerProvider {
  getTracer(name: string, version?: string): Tracer;
}

export interface Tracer {
  startSpan(name: string, options?: SpanOptions, context?: object): Span;
}

interface SpanOptions {
  readonly kind?: number;
  readonly root?: boolean;
  readonly attributes?: Readonly<Record<string, string | number>>;
  readonly links?: { readonly context: SpanContext }[];
}

export interface Span {
  spanContext(): SpanContext;
  setAttribute(name: string, value: string | number): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  recordException(error: { readonly name: string; readonly message: string; readonly stack?: string }): void;
  end(): void;
}

export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
  readonly traceState?: TraceState;
}

interface TraceState {
  get(name: string): string | undefined;
  set(name: string, value: string): TraceState;
  unset(name: string): TraceState;
  serialize(): string;
}
