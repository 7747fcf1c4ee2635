import { delayInRange } from "../settings.js";
import { stackOf } from "./error-stack.js";
import { storableText } from "./json.js";

/** How an attempt ends. A retry of the last attempt becomes a dead letter in the database. */
export type Outcome =
  | { readonly is: "complete" }
  | { readonly is: "retry"; readonly error: string; readonly delayMs: number | null; readonly stack?: string }
  | { readonly is: "dead_letter"; readonly error: string; readonly stack?: string }
  | { readonly is: "release" };

export const complete: Outcome = Object.freeze({ is: "complete" });
export const release: Outcome = Object.freeze({ is: "release" });

/** Thrown (or passed to fail) to choose the wait before the next attempt. Made by retryAfter(). */
export class RetryAfter extends Error {
  readonly delayMs: number;

  constructor(delayMs: number, reason: string) {
    super(reason);
    this.name = "RetryAfter";
    this.delayMs = delayMs;
  }
}

/** Thrown (or passed to fail) to give up now. Made by deadLetter(). */
export class DeadLetter extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "DeadLetter";
  }
}

/** What a thrown value means, whatever it is: strings, undefined, revoked proxies and objects with a hostile toString included. */
export function outcomeOf(error: unknown): Outcome {
  const text = describe(error);
  try {
    if (error instanceof DeadLetter) return { is: "dead_letter", error: text };
    if (error instanceof RetryAfter)
      return { is: "retry", error: text, delayMs: delayInRange(error.delayMs) };
  } catch {
    // Not even its class can be asked for; then it is a failure like any other.
  }
  const stack = stackOf(error);
  return { is: "retry", error: text, delayMs: null, ...(stack === null ? {} : { stack }) };
}

function describe(error: unknown): string {
  try {
    return storableText(wordsOf(error)) || "an error without a message";
  } catch {
    return "an error that can't be described";
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof Error) return `${error.name}: ${error.message}`;
  if (typeof error === "string") return error;
  if (typeof error !== "object" || error === null) return `threw ${String(error)}`;
  return `threw ${JSON.stringify(error) ?? "an object"}`;
}
