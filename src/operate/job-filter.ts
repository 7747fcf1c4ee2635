import { InvalidOptionError } from "../errors.js";
import type { OptionNames } from "../option-names.js";
import { defaults, oneOf, wholeNumber } from "../settings.js";
import type { JobStatus } from "../work/job.js";

/** Which jobs an operator means. An empty filter means all that the verb concerns. */
export interface JobFilter {
  readonly ids?: readonly string[];
  readonly status?: JobStatus;
  readonly kind?: string;
  readonly partitionKey?: string;
  /** How many at most. */
  readonly limit?: number;
}

/** A filter for list(): one page, newest first. */
export interface ListFilter extends Omit<JobFilter, "ids"> {
  /** The last id of the page before. */
  readonly before?: string;
}

export interface DiscardFilter extends JobFilter {
  /** Why; it is stored with the jobs. */
  readonly reason?: string;
}

const common = { status: true, kind: true, partitionKey: true, limit: true } as const;
const retryNames: OptionNames<JobFilter> = { ...common, ids: true };
const listNames: OptionNames<ListFilter> = { ...common, before: true };
const discardNames: OptionNames<DiscardFilter> = { ...retryNames, reason: true };
export const filterNames: {
  readonly list: OptionNames<ListFilter>;
  readonly retry: OptionNames<JobFilter>;
  readonly discard: OptionNames<DiscardFilter>;
} = Object.freeze({ list: listNames, retry: retryNames, discard: discardNames });

const statuses: readonly JobStatus[] = [
  "scheduled",
  "pending",
  "processing",
  "dead_letter",
  "completed",
  "discarded",
];
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
  for (const option of ["kind", "partitionKey"] as const) {
    const value: unknown = filter[option];
    if (value !== undefined && typeof value !== "string") throw new InvalidOptionError(option, value, "text");
  }
  wholeNumber("limit", filter.limit, { fallback: 1, min: 1, max: defaults.operateRowsMax });
  return filter;
}
