import { DrainedError, HandlerTimeoutError } from "../errors.js";
import type { Events } from "../events.js";
import { delayInRange } from "../settings.js";
import type { CheckedKind, Middleware } from "./handlers.js";
import { type Ending, type HeldJob, lost, settled } from "./held-job.js";
import type { Hooks } from "./hooks.js";
import type { WorkingJob } from "./job.js";
import { complete, type Outcome, outcomeOf, release } from "./outcome.js";

const completed: Ending = Object.freeze({ is: "outcome", outcome: complete });

export interface HandleParts {
  readonly events: Events;
  readonly kinds: ReadonlyMap<string, CheckedKind>;
  readonly middleware: readonly Middleware[];
  readonly hooks: Hooks;
}

/**
 * Runs one attempt and never rejects: whatever a handler throws, strings, undefined and hostile objects included, becomes an outcome. A handler that
 * is through when it returns costs no promise.
 */
export function handle(parts: HandleParts, held: HeldJob): Ending | Promise<Ending> {
  const { job } = held;
  const kind = parts.kinds.get(job.kind);
  // Claims leave out kinds that have no handler here; if one comes all the same, nothing is spent.
  if (kind === undefined) return ended(parts, held, release);
  if (parts.events.isHeard("job:started")) {
    const { id, queue, partitionKey, attempt, fenceToken: token } = job;
    parts.events.emit("job:started", { queue, id, kind: job.kind, partitionKey, attempt, token });
  }
  try {
    const result = parts.hooks.hasHandleHooks
      ? parts.hooks.aroundHandle(job, () => run(parts, job, kind))
      : run(parts, job, kind);
    if (!mayBePromise(result)) return returned(parts, kind, held);
    return whenDone(parts, kind, { held, result });
  } catch (error) {
    return threw(parts, kind, { held, error });
  }
}

function run({ middleware }: HandleParts, job: WorkingJob, kind: CheckedKind): unknown {
  return middleware.length === 0 ? kind.handle(job) : around(middleware, job, kind);
}

async function whenDone(
  parts: HandleParts,
  kind: CheckedKind,
  { held, result }: { readonly held: HeldJob; readonly result: unknown },
): Promise<Ending> {
  try {
    await result;
  } catch (error) {
    return await threw(parts, kind, { held, error });
  }
  return await returned(parts, kind, held);
}

function returned(parts: HandleParts, kind: CheckedKind, held: HeldJob): Ending | Promise<Ending> {
  if (held.transactions === null) return ended(parts, held, complete);
  return untilTransactionsEnd(parts, held).then((failed) =>
    ended(parts, held, failed === null ? complete : unawaited(failure(kind, held, failed.error))),
  );
}

function threw(
  parts: HandleParts,
  kind: CheckedKind,
  { held, error }: { readonly held: HeldJob; readonly error: unknown },
): Ending | Promise<Ending> {
  if (held.transactions === null) return ended(parts, held, failure(kind, held, error));
  return untilTransactionsEnd(parts, held).then(() => ended(parts, held, failure(kind, held, error)));
}

/**
 * Waits for what the handler did not wait for: the transaction of a forgotten await may be about to complete the job. Returns the first failure of one that nobody else has
 * heard of. The handler's time limit holds for this wait too.
 */
async function untilTransactionsEnd(
  parts: HandleParts,
  held: HeldJob,
): Promise<{ readonly error: unknown } | null> {
  const loose = (held.transactions ?? []).filter((transaction) => transaction.isLoose);
  const { id, queue, kind } = held.job;
  let first: { readonly error: unknown } | null = null;
  for (const transaction of loose) {
    await transaction.untilEnded();
    first ??= transaction.failure;
    const isCommitted = transaction.failure === null;
    parts.events.emit("transaction:unawaited", { queue, id, kind, isCommitted });
  }
  return first;
}

function unawaited(outcome: Outcome): Outcome {
  if (!("error" in outcome)) return outcome;
  const words = "the handler did not wait for its job.transaction, so an await is missing";
  return { ...outcome, error: `${outcome.error} (${words})` };
}

/** Anything that await would wait for, and whatever can't be told without asking it. */
function mayBePromise(result: unknown): boolean {
  return (typeof result === "object" && result !== null) || typeof result === "function";
}

/** What an attempt comes to whose handler ignores its signal. The rules of its kind hold for it too. */
export function givenUp(parts: HandleParts, held: HeldJob): Ending {
  const kind = parts.kinds.get(held.job.kind);
  return ended(parts, held, kind === undefined ? release : failure(kind, held, held.abortReason));
}

async function around(
  middleware: readonly Middleware[],
  job: WorkingJob,
  kind: CheckedKind,
): Promise<unknown> {
  const from = async (place: number): Promise<unknown> => {
    const next = middleware[place];
    return next === undefined ? await kind.handle(job) : await next(job, () => from(place + 1));
  };
  return await from(0);
}

/** A lost lease settles nothing, and what job.transaction has committed stands whatever comes after it. */
function ended(parts: HandleParts, held: HeldJob, outcome: Outcome): Ending {
  const { id, queue, kind, attempt } = held.job;
  const error = "error" in outcome ? outcome.error : null;
  if (held.isSettled) {
    if (error !== null) parts.events.emit("job:threw", { queue, id, kind, error });
    return settled;
  }
  if (held.isLost || held.isGivenUp) return lost;
  if (error !== null) {
    // The database makes a retry of the last attempt a dead letter.
    const isLast = errorsOf(held) >= held.job.maxAttempts;
    const is = outcome.is === "retry" && isLast ? "dead_letter" : outcome.is;
    parts.events.emit("job:failed", { queue, id, kind, attempt, outcome: is, error });
  }
  return outcome === complete ? completed : { is: "outcome", outcome };
}

/** Which error it is: attempts that ended in a crash have a budget of their own. */
function errorsOf({ job }: HeldJob): number {
  return job.attempt - job.crashes;
}

function failure(kind: CheckedKind, held: HeldJob, error: unknown): Outcome {
  if (held.abortReason instanceof DrainedError) return release;
  const isTimeout = held.abortReason instanceof HandlerTimeoutError;
  const outcome = outcomeOf(isTimeout ? held.abortReason : error);
  if (outcome.is !== "retry") return outcome;
  if (errorsOf(held) >= kind.attemptsMax) {
    const { error: words, stack } = outcome;
    return { is: "dead_letter", error: words, ...(stack === undefined ? {} : { stack }) };
  }
  if (outcome.delayMs !== null || kind.retryDelayMs === null) return outcome;
  try {
    const delayMs = kind.retryDelayMs(held.job.attempt, error);
    return typeof delayMs === "number" && Number.isFinite(delayMs)
      ? { ...outcome, delayMs: delayInRange(delayMs) }
      : outcome;
  } catch (second) {
    return { ...outcome, error: `${outcome.error} (and its retryDelayMs threw: ${errorText(second)})` };
  }
}

function errorText(error: unknown): string {
  const outcome = outcomeOf(error);
  return "error" in outcome ? outcome.error : "";
}
