import { defaults, wholeNumber } from "../settings.js";
import { DeadLetter, RetryAfter } from "./outcome.js";

/** `throw retryAfter(60_000)`: the next attempt comes after so many milliseconds instead of the usual backoff. */
export function retryAfter(delayMs: number, reason = "asked to be tried again later"): RetryAfter {
  return new RetryAfter(
    wholeNumber("delayMs", delayMs, { fallback: 0, min: 0, max: defaults.delayMsMax }),
    reason,
  );
}

/** `throw deadLetter("no such customer")`: no further attempt. */
export function deadLetter(reason: string): DeadLetter {
  return new DeadLetter(reason);
}
