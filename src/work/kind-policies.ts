import { InvalidKeyError, InvalidOptionError } from "../errors.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { asObject, defaults, wholeNumber } from "../settings.js";
import { isStorableText } from "./json.js";

/** How often jobs of a kind may fail. What is left out is the queue's. */
export interface KindPolicy {
  /** Attempts that may end with an error, for jobs whose producer does not say. */
  readonly maxAttempts?: number | undefined;
  /** Attempts that may end with the loss of their worker or lease. */
  readonly maxCrashes?: number | undefined;
}

export type KindPolicies = Readonly<Record<string, KindPolicy>>;

const policyNames: OptionNames<KindPolicy> = Object.freeze({ maxAttempts: true, maxCrashes: true });

/** Policies by kind, checked, in one order of their names, so that two equal ones are equal as JSON. */
export function kindPolicies(value: KindPolicies | undefined): KindPolicies {
  if (value === undefined) return Object.freeze({});
  const entries = Object.entries(asObject("kinds", value));
  if (Array.isArray(value) || entries.length > defaults.kindPoliciesMax)
    throw new InvalidOptionError("kinds", value, `an object with at most ${defaults.kindPoliciesMax} kinds`);
  const checked = entries.map(([kind, policy]) => [kind, policyOf(kind, policy)] as const);
  // Code units, not a locale's order: every process must agree.
  checked.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.freeze(Object.fromEntries(checked));
}

function policyOf(kind: string, policy: KindPolicy): KindPolicy {
  if (kind === "" || !isStorableText(kind) || Buffer.byteLength(kind) > defaults.kindBytesMax)
    throw new InvalidKeyError("kind", kind, `it is not a text of 1 to ${defaults.kindBytesMax} bytes`);
  const where = `kinds["${kind}"]`;
  const { maxAttempts, maxCrashes } = withKnownNames(where, asObject(where, policy), policyNames);
  return Object.freeze({
    ...(maxAttempts === undefined ? {} : { maxAttempts: attemptsIn(`maxAttempts of ${kind}`, maxAttempts) }),
    ...(maxCrashes === undefined ? {} : { maxCrashes: crashesIn(`maxCrashes of ${kind}`, maxCrashes) }),
  });
}

export function attemptsIn(option: string, value: number | undefined): number {
  return wholeNumber(option, value, { fallback: defaults.maxAttempts, min: 1, max: defaults.maxAttemptsMax });
}

export function crashesIn(option: string, value: number | undefined): number {
  return wholeNumber(option, value, { fallback: defaults.maxCrashes, min: 1, max: defaults.maxCrashesMax });
}
