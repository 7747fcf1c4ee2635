import { InvalidKeyError, InvalidOptionError } from "../errors.js";
import type { OptionNames } from "../option-names.js";
import { asObject, defaults, wholeNumber } from "../settings.js";
import { type JobQueue, jobHeaders } from "./job-headers.js";
import { isStorableText, toJson } from "./json.js";
import type { QueueSettings } from "./queue-settings.js";

/** What a producer may say about a job, besides its kind and payload. */
export interface EnqueueOptions {
  /** The stream it belongs to; without one it is ordered with nothing. At most 512 bytes. */
  readonly partitionKey?: string | undefined;
  /** Within the dedupe window a second job with this key is not created. At most 512 bytes. */
  readonly idempotencyKey?: string | undefined;
  readonly availableAt?: Date | undefined;
  readonly delayMs?: number | undefined;
  /** Lower runs earlier. Only in queues with order: "none"; refused in others. */
  readonly priority?: number | undefined;
  /** How many attempts may end with an error. Without it the database takes what the queue stores for its kind, or for all. */
  readonly maxAttempts?: number | undefined;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
}

export const enqueueOptionNames: OptionNames<EnqueueOptions> = Object.freeze({
  partitionKey: true,
  idempotencyKey: true,
  availableAt: true,
  delayMs: true,
  priority: true,
  maxAttempts: true,
  headers: true,
});

/** A job that has been checked and turned into JSON, ready for the database. */
export interface NewJob {
  readonly id: string;
  readonly json: string;
  readonly idempotencyKey: string | null;
  readonly partitionKey: string | null;
}

export interface NewJobInput extends EnqueueOptions {
  readonly kind: string;
  readonly payload: unknown;
}

/** Checks everything a producer gave. Raises a coded error before any SQL; nothing is written then. */
export function newJob(input: NewJobInput, id: string, queue: JobQueue): NewJob {
  const { settings } = queue;
  asObject("job", input);
  checkKey("kind", input.kind, defaults.kindBytesMax);
  if (input.partitionKey !== undefined) checkKey("partition key", input.partitionKey, defaults.keyBytesMax);
  if (input.idempotencyKey !== undefined)
    checkKey("idempotency key", input.idempotencyKey, defaults.keyBytesMax);
  const payload = toJson("payload", input.payload, settings.payloadLimitBytes);
  const headers = jobHeaders(input.headers, queue);
  const fields = {
    id,
    kind: input.kind,
    partition_key: input.partitionKey,
    idempotency_key: input.idempotencyKey,
    priority: priorityIn(settings, input.priority),
    max_attempts: optionalNumber("maxAttempts", input.maxAttempts, 1, defaults.maxAttemptsMax),
    ...dueTime(input),
  };
  const bytes = Buffer.byteLength(payload);
  if (bytes > defaults.payloadWarningBytes) {
    queue.events.emit("payload:warned", { queue: settings.name, kind: input.kind, bytes });
  }
  const rest = JSON.stringify(fields).slice(0, -1);
  const json = `${rest},"payload":${payload}${headers === undefined ? "" : `,"headers":${headers}`}}`;
  return { id, json, idempotencyKey: input.idempotencyKey ?? null, partitionKey: input.partitionKey ?? null };
}

export function checkKey(what: string, value: unknown, bytesMax: number): void {
  if (typeof value !== "string") throw new InvalidKeyError(what, value, "it is not text");
  if (value === "") throw new InvalidKeyError(what, value, "it is empty");
  if (!isStorableText(value))
    throw new InvalidKeyError(what, value, "it has a NUL character or a lone surrogate");
  const bytes = Buffer.byteLength(value);
  if (bytes > bytesMax)
    throw new InvalidKeyError(what, value, `it has ${bytes} bytes, the limit is ${bytesMax}`);
}

function dueTime(options: EnqueueOptions): { available_at?: string; delay_ms?: number } {
  const { availableAt, delayMs } = options;
  if (availableAt !== undefined && delayMs !== undefined) {
    throw new InvalidOptionError("delayMs", delayMs, "left out when availableAt is given");
  }
  if (delayMs !== undefined) {
    return { delay_ms: wholeNumber("delayMs", delayMs, { fallback: 0, min: 0, max: defaults.delayMsMax }) };
  }
  if (availableAt === undefined) return {};
  const ms = availableAt instanceof Date ? availableAt.getTime() : Number.NaN;
  if (!Number.isFinite(ms) || ms < 0 || ms > 253_402_300_799_000) {
    throw new InvalidOptionError("availableAt", availableAt, "a valid Date between the years 1970 and 9999");
  }
  return { available_at: availableAt.toISOString() };
}

function priorityIn(settings: QueueSettings, priority: number | undefined): number | undefined {
  if (priority !== undefined && settings.order === "key") {
    const reason = `the queue ${settings.name} has order "key", where the rows of a key run in order`;
    throw new InvalidOptionError("priority", priority, `left out: ${reason}; use a queue with order "none"`);
  }
  return optionalNumber("priority", priority, -defaults.priorityMax, defaults.priorityMax);
}

function optionalNumber(
  option: string,
  value: number | undefined,
  min: number,
  max: number,
): number | undefined {
  return value === undefined ? undefined : wholeNumber(option, value, { fallback: 0, min, max });
}
