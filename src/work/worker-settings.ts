import { InvalidOptionError } from "../errors.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { defaults, flag, wholeNumber } from "../settings.js";
import type { Middleware } from "./handlers.js";

export interface WorkerOptions {
  /** Handlers at a time. */
  readonly concurrency?: number | undefined;
  readonly leaseMs?: number | undefined;
  /** How long a handler may take; its kind may say otherwise. */
  readonly handlerTimeoutMs?: number | undefined;
  /** How long a handler may go on after its signal was aborted, before its slot is used again. */
  readonly abortGraceMs?: number | undefined;
  /** How long stop() waits for running handlers. */
  readonly drainLimitMs?: number | undefined;
  readonly housekeepingMs?: number | undefined;
  /** How often it looks for jobs while there are none; 2 s. A worker that is notified of new jobs starts them at once. */
  readonly pollIdleMs?: number | undefined;
  /** How often it looks while others hold jobs in its buckets, or while it can't be notified and works; 60 ms. */
  readonly pollActiveMs?: number | undefined;
  /** Jobs a claim takes at most. Left out: 25 at first, and up to 500 while handlers are faster than claims. */
  readonly claimBatch?: number | undefined;
  /** Run around every handler, the first outermost. */
  readonly middleware?: readonly Middleware[] | undefined;
  /** SIGTERM and SIGINT drain, then end the process with 0; a second one ends it at once. False leaves signals to you. */
  readonly handlesSignals?: boolean | undefined;
}

const workerOptionNames: OptionNames<WorkerOptions> = Object.freeze({
  concurrency: true,
  leaseMs: true,
  handlerTimeoutMs: true,
  abortGraceMs: true,
  drainLimitMs: true,
  housekeepingMs: true,
  pollIdleMs: true,
  pollActiveMs: true,
  claimBatch: true,
  middleware: true,
  handlesSignals: true,
});

export interface WorkerSettings {
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly handlerTimeoutMs: number;
  readonly abortGraceMs: number;
  readonly drainLimitMs: number;
  readonly housekeepingMs: number;
  readonly pollIdleMs: number;
  readonly pollActiveMs: number;
  /** Null: it follows the rate of the handlers. */
  readonly claimBatch: number | null;
  readonly middleware: readonly Middleware[];
  readonly handlesSignals: boolean;
}

export function workerSettings(given: WorkerOptions): WorkerSettings {
  const options = withKnownNames("lh.worker()", given, workerOptionNames);
  const { middleware = [] } = options;
  if (!Array.isArray(middleware) || middleware.some((one) => typeof one !== "function")) {
    throw new InvalidOptionError("middleware", middleware, "an array of functions");
  }
  return Object.freeze({
    concurrency: wholeNumber("concurrency", options.concurrency, {
      fallback: defaults.concurrency,
      min: 1,
      max: defaults.concurrencyMax,
    }),
    leaseMs: wholeNumber("leaseMs", options.leaseMs, {
      fallback: defaults.leaseMs,
      min: defaults.leaseMsMin,
      max: defaults.leaseMsMax,
    }),
    handlerTimeoutMs: wholeNumber("handlerTimeoutMs", options.handlerTimeoutMs, {
      fallback: defaults.handlerTimeoutMs,
      min: 1,
      max: defaults.handlerTimeoutMsMax,
    }),
    abortGraceMs: wholeNumber("abortGraceMs", options.abortGraceMs, {
      fallback: defaults.abortGraceMs,
      min: 0,
      max: defaults.handlerTimeoutMsMax,
    }),
    drainLimitMs: wholeNumber("drainLimitMs", options.drainLimitMs, {
      fallback: defaults.drainLimitMs,
      min: 0,
      max: defaults.drainLimitMsMax,
    }),
    housekeepingMs: wholeNumber("housekeepingMs", options.housekeepingMs, {
      fallback: defaults.housekeepingMs,
      min: 100,
      max: 86_400_000,
    }),
    pollIdleMs: wholeNumber("pollIdleMs", options.pollIdleMs, {
      fallback: defaults.pollIdleMs,
      min: defaults.pollIdleMsMin,
      max: defaults.pollIdleMsMax,
    }),
    pollActiveMs: wholeNumber("pollActiveMs", options.pollActiveMs, {
      fallback: defaults.pollActiveMs,
      min: defaults.pollActiveMsMin,
      max: defaults.pollActiveMsMax,
    }),
    claimBatch: options.claimBatch === undefined ? null : checkedBatch(options.claimBatch),
    middleware: Object.freeze([...middleware]),
    handlesSignals: flag("handlesSignals", options.handlesSignals, true),
  });
}

function checkedBatch(claimBatch: number): number {
  const { claimLimit: fallback, claimLimitMax: max } = defaults;
  return wholeNumber("claimBatch", claimBatch, { fallback, min: 1, max });
}
