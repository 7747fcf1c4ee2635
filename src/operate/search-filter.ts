import { InvalidOptionError } from "../errors.js";
import type { OptionNames } from "../option-names.js";
import { asObject, defaults, oneOf, wholeNumber } from "../settings.js";
import type { JobStatus } from "../work/job.js";
import { toJson } from "../work/json.js";
import type { QueueSettings } from "../work/queue-settings.js";
import { checkedFingerprint, checkedText } from "./checked-text.js";
import { statuses } from "./statuses.js";

/** Which jobs to search for. All that is given must fit. */
export interface SearchFilter {
  /** `completed` and `discarded` are in the archive, `dead_letter` in the queue and the archive; without a status the queue is searched. */
  readonly status?: JobStatus | undefined;
  readonly kind?: string | undefined;
  readonly partitionKey?: string | undefined;
  /** The worker that holds the job, has completed it, or was the last to fail it. */
  readonly workerId?: string | undefined;
  /** Created at least so long ago. */
  readonly olderThanMs?: number | undefined;
  /** Created at most so long ago. */
  readonly newerThanMs?: number | undefined;
  /** Text in the last error, in capitals or not. It is no pattern. */
  readonly error?: string | undefined;
  /** Of the last error, as deadLetters() gives it. */
  readonly fingerprint?: string | undefined;
  /** What the payload contains: `{ order: { id: 9182 } }`. */
  readonly payload?: Readonly<Record<string, unknown>> | undefined;
  /** Where the page before ended. Give the same filter with it. */
  readonly cursor?: string | undefined;
  /** How many jobs at most; 100. */
  readonly limit?: number | undefined;
}

export const searchFilterNames: OptionNames<SearchFilter> = Object.freeze({
  status: true,
  kind: true,
  partitionKey: true,
  workerId: true,
  olderThanMs: true,
  newerThanMs: true,
  error: true,
  fingerprint: true,
  payload: true,
  cursor: true,
  limit: true,
});

/** The filter as the statements take it. */
export interface SearchWords {
  readonly status: string | null;
  readonly kind: string | null;
  readonly partitionKey: string | null;
  readonly workerId: string | null;
  readonly olderMs: number | null;
  readonly newerMs: number | null;
  readonly error: string | null;
  readonly fingerprint: string | null;
  readonly payload: string | null;
}

export function checkedSearch(filter: SearchFilter, settings: QueueSettings): SearchWords {
  if (filter.status !== undefined) oneOf("status", filter.status, statuses, "pending");
  const { payload } = filter;
  return {
    status: filter.status ?? null,
    kind: checkedText("kind", filter.kind),
    partitionKey: checkedText("partitionKey", filter.partitionKey),
    workerId: checkedText("workerId", filter.workerId),
    olderMs: age("olderThanMs", filter.olderThanMs),
    newerMs: age("newerThanMs", filter.newerThanMs),
    error: errorText(filter.error),
    fingerprint: checkedFingerprint(filter.fingerprint),
    payload:
      payload === undefined
        ? null
        : toJson("payload", asObject("payload", payload), settings.payloadLimitBytes),
  };
}

function age(option: string, value: number | undefined): number | null {
  if (value === undefined) return null;
  return wholeNumber(option, value, { fallback: 0, min: 0, max: defaults.delayMsMax });
}

function errorText(error: unknown): string | null {
  const text = checkedText("error", error);
  if (text === "" || (text !== null && text.length > defaults.errorTextMax))
    throw new InvalidOptionError("error", text, `text of 1 to ${defaults.errorTextMax} characters`);
  return text;
}
