import type { Binder } from "../database/bind.js";
import type { Reader } from "../database/reader.js";
import { listHistory } from "../database/statements.generated.js";
import { InvalidOptionError } from "../errors.js";
import { checkedText, checkedTime } from "../operate/checked-text.js";
import type { OptionNames } from "../option-names.js";
import { withKnownNames } from "../option-names.js";
import { defaults, wholeNumber } from "../settings.js";

/** What of the history is wanted; all that is kept when left out. */
export interface HistoryFilter {
  readonly queue?: string | undefined;
  readonly workerId?: string | undefined;
  /** One kind of entry or several, such as "worker:dead". */
  readonly kind?: string | readonly string[] | undefined;
  /** From this time on, and before this time. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  /** The id of the last entry of the page before. */
  readonly before?: string | undefined;
  readonly limit?: number | undefined;
}

/** Something that happened to the fleet or to a queue. sql/migrations/0016_history.sql says what the kinds mean. */
export interface HistoryEntry {
  readonly id: string;
  readonly at: Date;
  readonly kind: string;
  readonly queue: string | null;
  readonly workerId: string | null;
  /** Of jobs or buckets; null where there is nothing to count. */
  readonly count: number | null;
  /** The role that was logged in, and what its connection calls itself. */
  readonly actor: string;
  readonly application: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

const filterNames: OptionNames<HistoryFilter> = Object.freeze({
  queue: true,
  workerId: true,
  kind: true,
  from: true,
  to: true,
  before: true,
  limit: true,
});

/** One page of the history, newest first. */
export async function readHistory(
  seams: { readonly reads: Reader; readonly bind: Binder },
  filter: HistoryFilter,
): Promise<readonly HistoryEntry[]> {
  const { queue, workerId, kind, from, to, before, limit } = checked(filter);
  const rows = await seams.reads.run(
    seams.bind(listHistory, {
      before: before === undefined ? null : BigInt(before),
      queue: queue ?? null,
      workerId: workerId ?? null,
      kinds: kind === undefined ? null : [kind].flat(),
      fromAt: from ?? null,
      toAt: to ?? null,
      limit: wholeNumber("limit", limit, {
        fallback: defaults.listLimit,
        min: 1,
        max: defaults.historyLimitMax,
      }),
    }),
  );
  return rows.map(({ id, worker_id, count, detail, ...row }) =>
    Object.freeze({
      ...row,
      id: String(id),
      workerId: worker_id,
      count: count === null ? null : Number(count),
      detail: detail as Record<string, unknown>,
    }),
  );
}

function checked(filter: HistoryFilter): HistoryFilter {
  withKnownNames("lh.history()", filter, filterNames);
  for (const option of ["queue", "workerId"] as const) checkedText(option, filter[option]);
  for (const kind of [filter.kind].flat()) checkedText("kind", kind);
  for (const option of ["from", "to"] as const) checkedTime(option, filter[option]);
  if (filter.before !== undefined && !/^\d{1,18}$/.test(String(filter.before)))
    throw new InvalidOptionError("before", filter.before, "the id of an entry");
  return filter;
}
