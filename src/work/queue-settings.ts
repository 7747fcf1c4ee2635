import { InvalidOptionError, QueueMismatchError } from "../errors.js";
import { defaults, flag, oneOf, wholeNumber } from "../settings.js";
import { isStorableText } from "./json.js";
import { attemptsIn, crashesIn, kindPolicies } from "./kind-policies.js";
import { changeable, fixed, type QueueOptions } from "./queue-options.js";

/** A queue as it is stored, with this process's limit. Complete and frozen. */
type Complete<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> };

export interface QueueSettings extends Complete<QueueOptions> {
  readonly name: string;
  readonly schema: string;
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
  if (
    !Array.isArray(value) ||
    value.some((name) => typeof name !== "string" || name === "" || !isStorableText(name))
  ) {
    throw new InvalidOptionError(option, value, "an array of region names");
  }
  return Object.freeze([...new Set(value)].sort());
}

/** What is given as a list or an object has one form in which it can be compared. */
function comparable(option: keyof QueueOptions, options: QueueOptions): unknown {
  if (options[option] === undefined) return undefined;
  if (option === "kinds") return kindPolicies(options.kinds);
  const isRegions = option === "preferRegions" || option === "excludeRegions";
  return isRegions ? regions(option, options[option]) : options[option];
}

interface Difference {
  readonly option: string;
  readonly given: unknown;
  readonly stored: unknown;
}

type StoredQueue = Omit<QueueSettings, "payloadLimitBytes">;

function differencesIn(
  names: readonly (keyof StoredQueue & keyof QueueOptions)[],
  stored: StoredQueue,
  options: QueueOptions,
): readonly Difference[] {
  return names
    .map((option) => ({ option, given: comparable(option, options), stored: stored[option] }))
    .filter(({ given, stored: was }) => given !== undefined && JSON.stringify(given) !== JSON.stringify(was));
}

/**
 * The stored queue with this process's limit. A fixed option that was given and disagrees is an error. Of those that can be changed the stored value counts, and `differences` names
 * them: in a rolling deploy processes of both versions open the queue.
 */
export function agreed(
  stored: StoredQueue,
  options: QueueOptions,
): { readonly settings: QueueSettings; readonly differences: readonly Difference[] } {
  const { payloadLimitBytes, retentionMs } = qualified(stored.name, stored.schema, options);
  const isOtherArchive =
    options.retentionMs !== undefined && (retentionMs === 0) !== (stored.retentionMs === 0);
  const refused = differencesIn(
    [...fixed, ...(isOtherArchive ? ["retentionMs" as const] : [])],
    stored,
    options,
  );
  if (refused.length > 0) {
    const texts = refused.map(
      ({ option, given, stored: was }) =>
        `${option} is ${JSON.stringify(was)}, you asked for ${JSON.stringify(given)}`,
    );
    throw new QueueMismatchError(stored.name, texts);
  }
  return {
    settings: Object.freeze({ ...stored, payloadLimitBytes }),
    differences: differencesIn(changeable, stored, options),
  };
}
