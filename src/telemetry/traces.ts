import type { BegunEnqueue, EnqueueCall, Hooks } from "../work/hooks.js";
import type { WorkingJob } from "../work/job.js";
import { outcomeOf } from "../work/outcome.js";
import { messaging, systemName } from "./names.js";
import type { OpenTelemetryApi, Span, SpanContext, Tracer } from "./trace-api.js";
import { isRecorded, type Producer, producerOf, traceHeaders } from "./trace-headers.js";

export interface TraceParts {
  readonly api: OpenTelemetryApi;
  readonly tracer: Tracer;
  /** A job that waited longer is linked to the span that enqueued it, not a child of it. */
  readonly linkAfterMs: number;
  /** Whether spans outside of a recorded trace are left out. */
  readonly requiresParent: boolean;
}

/** A span for every enqueue and for every attempt of a handler. Returns what ends that. */
export function addTraces(hooks: Hooks, parts: TraceParts): () => void {
  const removers = [
    hooks.onEnqueue((call) => beginEnqueue(parts, call)),
    hooks.onHandle((job, run) => aroundHandler(parts, job, run)),
  ];
  return () => {
    for (const remove of removers) remove();
  };
}

const untraced: BegunEnqueue = Object.freeze({ headers: Object.freeze({}), end: () => {} });

function beginEnqueue(parts: TraceParts, { queue, jobs }: EnqueueCall): BegunEnqueue {
  const { api, tracer, requiresParent } = parts;
  const active = api.context.active();
  if (requiresParent && !isRecorded(api.trace.getSpanContext(active))) return untraced;
  const span = safely(() =>
    tracer.startSpan(
      `enqueue ${queue}`,
      {
        kind: api.SpanKind.PRODUCER,
        attributes: {
          [messaging.system]: systemName,
          [messaging.destination]: queue,
          [messaging.operation]: "enqueue",
          [messaging.operationType]: "send",
          ...(jobs === 1 ? {} : { [messaging.batchCount]: jobs }),
        },
      },
      active,
    ),
  );
  if (span === null) return untraced;
  return {
    headers: safely(() => traceHeaders(span.spanContext(), jobs)) ?? {},
    end: (error) => endSpan(parts, span, error === null ? null : { error }),
  };
}

function aroundHandler(parts: TraceParts, job: WorkingJob, run: () => unknown): unknown {
  const { api } = parts;
  const producer = producerOf(job.headers);
  if (parts.requiresParent && !isRecorded(producer?.span)) return outsideOfSpans(api, run);
  const span = safely(() => startProcess(parts, job, producer));
  if (span === null) return run();
  try {
    const result = api.context.with(api.trace.setSpan(api.ROOT_CONTEXT, span), run);
    if (result === null || (typeof result !== "object" && typeof result !== "function")) {
      endSpan(parts, span, null);
      return result;
    }
    return untilDone(parts, span, result);
  } catch (error) {
    endSpan(parts, span, { error });
    throw error;
  }
}

/** Handlers begin in the context in which the worker was started, or in that of a claim. */
function outsideOfSpans(api: OpenTelemetryApi, run: () => unknown): unknown {
  return api.context.active() === api.ROOT_CONTEXT ? run() : api.context.with(api.ROOT_CONTEXT, run);
}

async function untilDone(parts: TraceParts, span: Span, result: unknown): Promise<unknown> {
  try {
    const value = await result;
    endSpan(parts, span, null);
    return value;
  } catch (error) {
    endSpan(parts, span, { error });
    throw error;
  }
}

function startProcess(
  { api, tracer, linkAfterMs }: TraceParts,
  job: WorkingJob,
  producer: Producer | null,
): Span {
  const options = {
    kind: api.SpanKind.CONSUMER,
    attributes: {
      [messaging.system]: systemName,
      [messaging.destination]: job.queue,
      [messaging.operation]: "process",
      [messaging.operationType]: "process",
      [messaging.messageId]: job.id,
      [messaging.kind]: job.kind,
      [messaging.attempt]: job.attempt,
    },
  };
  const name = `process ${job.queue}`;
  if (producer === null) return tracer.startSpan(name, { ...options, root: true }, api.ROOT_CONTEXT);
  const context: SpanContext =
    producer.state === ""
      ? producer.span
      : { ...producer.span, traceState: api.createTraceState(producer.state) };
  const isLate = job.claimedAt.getTime() - job.createdAt.getTime() > linkAfterMs;
  if (producer.isBatch || isLate)
    return tracer.startSpan(name, { ...options, root: true, links: [{ context }] }, api.ROOT_CONTEXT);
  return tracer.startSpan(name, options, api.trace.setSpanContext(api.ROOT_CONTEXT, context));
}

function endSpan({ api }: TraceParts, span: Span, failure: { readonly error: unknown } | null): void {
  if (failure !== null)
    safely(() => {
      const { name, message, stack } = wordsOf(failure.error);
      span.setAttribute(messaging.errorType, name);
      span.recordException({ name, message, ...(stack === undefined ? {} : { stack }) });
      span.setStatus({ code: api.SpanStatusCode.ERROR, message });
    });
  safely(() => span.end());
}

interface ErrorWords {
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
}

/** Anything can be thrown; what outcomeOf() makes of it is what the job's row says too. */
function wordsOf(error: unknown): ErrorWords {
  const outcome = outcomeOf(error);
  const message = "error" in outcome ? outcome.error : "";
  return {
    name: error instanceof Error ? error.name : "_OTHER",
    message,
    stack: "stack" in outcome ? outcome.stack : undefined,
  };
}

/** A span processor of the user's may throw. A job is not to pay for that. */
function safely<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
