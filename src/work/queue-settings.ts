import { InvalidOptionError, QueueMismatchError } from "../errors.js";
import type { OptionNames } from "../option-names.js";
import { defaults, flag, oneOf, wholeNumber } from "../settings.js";
import { attemptsIn, crashesIn, type KindPolicies, kindPolicies } from "./kind-policies.js";

/** What a user may say when a queue is opened. What is left out is taken from the stored queue, or from the defaults. */
export interface QueueOptions {
  /** "key": rows of one partition key run one after the other, in order. "none": by priority and due time. */
  readonly order?: "key" | "none";
  /** With order "key": earlier means committed earlier, at the price of a lock per key in each enqueuing transaction. */
  readonly strict?: boolean;
  /** "continue": a dead letter lets its key go on. "park": it holds its key until a person retries or discards it. */
  readonly onDeadLetter?: "continue" | "park";
  readonly buckets?: number;
  readonly ring?: "rendezvous" | "consistent";
  /** Points of each worker on a consistent ring. */
  readonly vnodes?: number;
  /** While a worker of one of these regions lives, only such workers own buckets. */
  readonly preferRegions?: readonly string[];
  /** Workers of these regions never own buckets. */
  readonly excludeRegions?: readonly string[];
  /** How long finished jobs are kept in the archive; 0 keeps none. Whole days are dropped at once. */
  readonly retentionMs?: number;
  /** How long a dead letter that let its key go on stays in the queue, before it is moved to the archive; 0 keeps it for ever. */
  readonly deadLetterRetentionMs?: number;
  /** How long an idempotency key answers, counted from the enqueue, and at least until its job has finished. */
  readonly dedupeWindowMs?: number;
  /** How many attempts of a job may end with an error, for jobs whose producer does not say; 12. The last one makes it a dead letter. */
  readonly maxAttempts?: number;
  /** How many attempts of a job may end with the loss of their worker or lease, whatever its maxAttempts; 5. */
  readonly maxCrashes?: number;
  /** What differs for a kind: `{ "receipt.send": { maxAttempts: 3, maxCrashes: 2 } }`. */
  readonly kinds?: KindPolicies;
  /** Not stored: the limit of this process. */
  readonly payloadLimitBytes?: number;
}

export const queueOptionNames: OptionNames<QueueOptions> = Object.freeze({
  order: true,
  strict: true,
  onDeadLetter: true,
  buckets: true,
  ring: true,
  vnodes: true,
  preferRegions: true,
  excludeRegions: true,
  retentionMs: true,
  deadLetterRetentionMs: true,
  dedupeWindowMs: true,
  maxAttempts: true,
  maxCrashes: true,
  kinds: true,
  payloadLimitBytes: true,
});

/** A queue as it is stored, with this process's limit. Complete and frozen. */
export interface QueueSettings {
  readonly name: string;
  readonly schema: string;
  readonly order: "key" | "none";
  readonly strict: boolean;
  readonly onDeadLetter: "continue" | "park";
  readonly buckets: number;
  readonly ring: "rendezvous" | "consistent";
  readonly vnodes: number;
  readonly preferRegions: readonly string[];
  readonly excludeRegions: readonly string[];
  readonly retentionMs: number;
  readonly deadLetterRetentionMs: number;
  readonly dedupeWindowMs: number;
  readonly maxAttempts: number;
  readonly maxCrashes: number;
  readonly kinds: KindPolicies;
  readonly payloadLimitBytes: number;
}

const tenYearsMs = 10 * 365 * 24 * 3_600_000;

/** Options with defaults filled in, checked. Raises InvalidOptionError before any SQL. */
export function qualified(name: string, schema: string, options: QueueOptions): QueueSettings {
  const order = oneOf("order", options.order, ["key", "none"], "key");
  const strict = flag("strict", options.strict, false);
  const onDeadLetter = oneOf("onDeadLetter", options.onDeadLetter, ["continue", "park"], "continue");
  if (order === "none" && strict)
    throw new InvalidOptionError("strict", true, 'left out: a queue with order "none" has no order to keep');
  if (order === "none" && onDeadLetter === "park") {
    throw new InvalidOptionError(
      "onDeadLetter",
      "park",
      '"continue": in a queue with order "none" there is no key to hold',
    );
  }
  return Object.freeze({
    name,
    schema,
    order,
    strict,
    onDeadLetter,
    buckets: wholeNumber("buckets", options.buckets, {
      fallback: defaults.buckets,
      min: 1,
      max: defaults.bucketsMax,
    }),
    ring: oneOf("ring", options.ring, ["rendezvous", "consistent"], defaults.ring),
    vnodes: wholeNumber("vnodes", options.vnodes, { fallback: defaults.vnodes, min: 1, max: 4_096 }),
    preferRegions: regions("preferRegions", options.preferRegions),
    excludeRegions: regions("excludeRegions", options.excludeRegions),
    retentionMs: wholeNumber("retentionMs", options.retentionMs, {
      fallback: defaults.retentionMs,
      min: 0,
      max: tenYearsMs,
    }),
    deadLetterRetentionMs: wholeNumber("deadLetterRetentionMs", options.deadLetterRetentionMs, {
      fallback: defaults.deadLetterRetentionMs,
      min: 0,
      max: tenYearsMs,
    }),
    dedupeWindowMs: wholeNumber("dedupeWindowMs", options.dedupeWindowMs, {
      fallback: defaults.dedupeWindowMs,
      min: 1_000,
      max: tenYearsMs,
    }),
    maxAttempts: attemptsIn("maxAttempts", options.maxAttempts),
    maxCrashes: crashesIn("maxCrashes", options.maxCrashes),
    kinds: kindPolicies(options.kinds),
    payloadLimitBytes: wholeNumber("payloadLimitBytes", options.payloadLimitBytes, {
      fallback: defaults.payloadLimitBytes,
      min: 2,
      max: 16_777_216,
    }),
  });
}

/** Names of regions, each once, sorted, so that two lists of the same regions are equal. */
function regions(option: string, value: readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.some((name) => typeof name !== "string" || name === "")) {
    throw new InvalidOptionError(option, value, "an array of region names");
  }
  return Object.freeze([...new Set(value)].sort());
}

const storedOptions = [
  "order",
  "strict",
  "onDeadLetter",
  "buckets",
  "ring",
  "vnodes",
  "preferRegions",
  "excludeRegions",
  "retentionMs",
  "deadLetterRetentionMs",
  "dedupeWindowMs",
  "maxAttempts",
  "maxCrashes",
  "kinds",
] as const;

/** What is given as a list or an object has one form in which it can be compared. */
function comparable(option: (typeof storedOptions)[number], options: QueueOptions): unknown {
  if (options[option] === undefined) return undefined;
  if (option === "kinds") return kindPolicies(options.kinds);
  const isRegions = option === "preferRegions" || option === "excludeRegions";
  return isRegions ? regions(option, options[option]) : options[option];
}

/** The stored queue with this process's limit; an option that was given and disagrees is an error. */
export function agreed(
  stored: Omit<QueueSettings, "payloadLimitBytes">,
  options: QueueOptions,
): QueueSettings {
  const differences: string[] = [];
  for (const option of storedOptions) {
    const wanted = comparable(option, options);
    if (wanted !== undefined && JSON.stringify(wanted) !== JSON.stringify(stored[option])) {
      differences.push(
        `${option} is ${JSON.stringify(stored[option])}, you asked for ${JSON.stringify(wanted)}`,
      );
    }
  }
  if (differences.length > 0) throw new QueueMismatchError(stored.name, differences);
  const { payloadLimitBytes } = qualified(stored.name, stored.schema, { ...options, ...stored });
  return Object.freeze({ ...stored, payloadLimitBytes });
}
