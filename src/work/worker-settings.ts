import { InvalidOptionError } from "../errors.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { defaults, flag, wholeNumber } from "../settings.js";
import type { Middleware } from "./handlers.js";

export interface WorkerOptions {
  /** Handlers at a time. */
  readonly concurrency?: number;
  readonly leaseMs?: number;
  /** How long a handler may take; its kind may say otherwise. */
  readonly handlerTimeoutMs?: number;
  /** How long a handler may go on after its signal was aborted, before its slot is used again. */
  readonly abortGraceMs?: number;
  /** How long stop() waits for running handlers. */
  readonly drainLimitMs?: number;
  readonly housekeepingMs?: number;
  /** Run around every handler, the first outermost. */
  readonly middleware?: readonly Middleware[];
  /** SIGTERM and SIGINT drain, then end the process with 0; a second one ends it at once. False leaves signals to you. */
  readonly handlesSignals?: boolean;
}

const workerOptionNames: OptionNames<WorkerOptions> = Object.freeze({
  concurrency: true,
  leaseMs: true,
  handlerTimeoutMs: true,
  abortGraceMs: true,
  drainLimitMs: true,
  housekeepingMs: true,
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
    middleware: Object.freeze([...middleware]),
    handlesSignals: flag("handlesSignals", options.handlesSignals, true),
  });
}
