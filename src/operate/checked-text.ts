import { InvalidOptionError } from "../errors.js";
import { isStorableText } from "../work/json.js";

/** Text to look for, or null when it was left out. What the database can't hold can't be found: asking for it is a mistake. */
export function checkedText(option: string, value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value !== "string") throw new InvalidOptionError(option, value, "text");
  if (!isStorableText(value))
    throw new InvalidOptionError(option, value, "text without NUL characters and lone surrogates");
  return value;
}

/** A point in time, or null when it was left out. */
export function checkedTime(option: string, value: unknown): Date | null {
  if (value === undefined) return null;
  if (!(value instanceof Date) || !Number.isFinite(value.getTime()))
    throw new InvalidOptionError(option, value, "a valid Date");
  return value;
}

const fingerprintPattern = /^[0-9a-f]{12}$/;

export function checkedFingerprint(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value !== "string" || !fingerprintPattern.test(value))
    throw new InvalidOptionError("fingerprint", value, "a fingerprint that deadLetters() gave");
  return value;
}
