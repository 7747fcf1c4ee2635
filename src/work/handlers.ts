import { InvalidOptionError } from "../errors.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { defaults, wholeNumber } from "../settings.js";
import type { WorkingJob } from "./job.js";
import type { JobTypes, KindOf } from "./typed-jobs.js";

export type Handler<K extends string = string, P = unknown> = (job: WorkingJob<K, P>) => unknown;

/** A handler with rules of its own for its kind. */
export interface KindRules<K extends string = string, P = unknown> {
  readonly handle: Handler<K, P>;
  readonly timeoutMs?: number | undefined;
  /** The wait before the next attempt; undefined or null leaves it to the usual backoff. */
  readonly retryDelayMs?: ((attempt: number, error: unknown) => number | null | undefined) | undefined;
  /** Gives up after so many attempts, also when the job would allow more. */
  readonly attemptsMax?: number | undefined;
}

type HandlerOf<K extends string, P> = Handler<K, P> | KindRules<K, P>;

/** Handlers for all kinds of a queue, or for some of them. Where any text is a kind, every handler has the same type. */
export type Handlers<J extends JobTypes> =
  Record<never, never> extends Record<KindOf<J>, true>
    ? Readonly<Record<KindOf<J>, HandlerOf<KindOf<J>, J[KindOf<J>]>>>
    : { readonly [K in KindOf<J>]?: HandlerOf<K, J[K]> };

/** Runs around every handler, the first outermost. It must call next() for the handler to run, and may catch what it throws. */
export type Middleware = (job: WorkingJob, next: () => Promise<unknown>) => Promise<unknown>;

const ruleNames: OptionNames<KindRules> = Object.freeze({
  handle: true,
  timeoutMs: true,
  retryDelayMs: true,
  attemptsMax: true,
});

export interface CheckedKind {
  readonly handle: Handler;
  readonly timeoutMs: number;
  readonly retryDelayMs: NonNullable<KindRules["retryDelayMs"]> | null;
  readonly attemptsMax: number;
}

/** Every kind with its rules filled in; raises InvalidOptionError for what can't be a handler. */
export function checkedHandlers(handlers: unknown, timeoutMs: number): ReadonlyMap<string, CheckedKind> {
  if (typeof handlers !== "object" || handlers === null || Array.isArray(handlers)) {
    throw new InvalidOptionError("handlers", handlers, "an object with a handler for each kind");
  }
  const kinds = new Map<string, CheckedKind>();
  for (const [kind, given] of Object.entries(handlers)) kinds.set(kind, checkedKind(kind, given, timeoutMs));
  if (kinds.size === 0)
    throw new InvalidOptionError("handlers", handlers, "an object with at least one handler");
  return kinds;
}

function checkedKind(kind: string, given: unknown, timeoutMs: number): CheckedKind {
  const rules = (typeof given === "function" ? { handle: given } : given) as KindRules | null;
  if (typeof rules !== "object" || rules === null || typeof rules.handle !== "function") {
    throw new InvalidOptionError(`handlers[${JSON.stringify(kind)}]`, given, "a function or { handle }");
  }
  withKnownNames(`the handler of ${kind}`, rules, ruleNames);
  if (rules.retryDelayMs !== undefined && typeof rules.retryDelayMs !== "function") {
    throw new InvalidOptionError(`retryDelayMs of ${kind}`, rules.retryDelayMs, "a function of the attempt");
  }
  return Object.freeze({
    handle: rules.handle,
    timeoutMs: wholeNumber(`timeoutMs of ${kind}`, rules.timeoutMs, {
      fallback: timeoutMs,
      min: 1,
      max: defaults.handlerTimeoutMsMax,
    }),
    retryDelayMs: rules.retryDelayMs ?? null,
    attemptsMax: wholeNumber(`attemptsMax of ${kind}`, rules.attemptsMax, {
      fallback: defaults.maxAttemptsMax,
      min: 1,
      max: defaults.maxAttemptsMax,
    }),
  });
}
