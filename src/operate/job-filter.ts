import { InvalidOptionError } from "../errors.js";
import type { OptionNames } from "../option-names.js";
import { defaults, oneOf, wholeNumber } from "../settings.js";
import type { JobStatus } from "../work/job.js";
import { checkedFingerprint, checkedText } from "./checked-text.js";
import { statuses } from "./statuses.js";

/** Which jobs an operator means. An empty filter means all that the verb concerns. */
export interface JobFilter {
  readonly ids?: readonly string[] | undefined;
  readonly status?: JobStatus | undefined;
  readonly kind?: string | undefined;
  readonly partitionKey?: string | undefined;
  /** Of the error, as deadLetters() gives it. Means dead letters, unless a status is given. */
  readonly fingerprint?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

/** A filter for list(): one page, newest first. */
export interface ListFilter extends Omit<JobFilter, "ids" | "fingerprint"> {
  /** The last id of the page before. */
  readonly before?: string | undefined;
}

export interface DiscardFilter extends JobFilter {
  /** Why; it is stored with the jobs. */
  readonly reason?: string | undefined;
}

const common = { status: true, kind: true, partitionKey: true, limit: true } as const;
const retryNames: OptionNames<JobFilter> = { ...common, ids: true, fingerprint: true };
const listNames: OptionNames<ListFilter> = { ...common, before: true };
const discardNames: OptionNames<DiscardFilter> = { ...retryNames, reason: true };
export const filterNames: {
  readonly list: OptionNames<ListFilter>;
  readonly retry: OptionNames<JobFilter>;
  readonly discard: OptionNames<DiscardFilter>;
} = Object.freeze({ list: listNames, retry: retryNames, discard: discardNames });

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function checkedId(option: string, id: unknown): string {
  if (typeof id !== "string" || !uuidPattern.test(id))
    throw new InvalidOptionError(option, id, "the id of a job (a UUID)");
  return id.toLowerCase();
}

export function checkedFilter<F extends JobFilter>(filter: F): F {
  if (filter.status !== undefined) oneOf("status", filter.status, statuses, "pending");
  if (filter.ids !== undefined && !Array.isArray(filter.ids))
    throw new InvalidOptionError("ids", filter.ids, "an array of ids");
  if (filter.ids !== undefined) for (const id of filter.ids) checkedId("ids", id);
  for (const option of ["kind", "partitionKey"] as const) checkedText(option, filter[option]);
  checkedFingerprint(filter.fingerprint);
  wholeNumber("limit", filter.limit, { fallback: 1, min: 1, max: defaults.operateRowsMax });
  return filter;
}
