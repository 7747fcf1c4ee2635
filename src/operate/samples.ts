import { listSamples } from "../database/statements.generated.js";
import { InvalidOptionError } from "../errors.js";
import type { OptionNames } from "../option-names.js";
import { defaults, wholeNumber } from "../settings.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { checkedTime } from "./checked-text.js";
import type { SampledWork } from "./recent.js";

/** Counts of a queue at one time, taken by housekeeping every half minute and kept for a week. */
export interface QueueSample extends SampledWork {
  readonly takenAt: Date;
  readonly scheduled: number;
  readonly pending: number;
  readonly processing: number;
  readonly deadLetter: number;
  /** Pending and due then. */
  readonly due: number;
  readonly retrying: number;
  readonly expired: number;
  /** Null when nothing was due, and when only a part of the table was read. */
  readonly oldestDueAt: Date | null;
  /** The part of the table that was read, above 0 and up to 1. Below 1 the counts are estimates. */
  readonly share: number;
}

export interface SampleRange {
  /** The first time that counts; by default all that is kept. */
  readonly from?: Date | undefined;
  /** The last time that counts; by default now. */
  readonly to?: Date | undefined;
  /** How many at most, the newest ones; 1 000. */
  readonly limit?: number | undefined;
}

export const sampleRangeNames: OptionNames<SampleRange> = Object.freeze({
  from: true,
  to: true,
  limit: true,
});

/** The stored history of a queue, oldest first. */
export async function listQueueSamples(
  seams: QueueSeams,
  range: SampleRange,
): Promise<readonly QueueSample[]> {
  const from = checkedTime("from", range.from);
  const to = checkedTime("to", range.to);
  if (from !== null && to !== null && from > to)
    throw new InvalidOptionError("from", from, "a time that is not after `to`");
  const limit = wholeNumber("limit", range.limit, {
    fallback: defaults.samplesLimit,
    min: 1,
    max: defaults.samplesLimitMax,
  });
  const query = seams.bind(listSamples, { queue: seams.settings.name, from, to, limit });
  const rows = await seams.reads.run(query);
  return rows.map((row) => sampleOf(row.taken_at, row.counts as Readonly<Record<string, unknown>>));
}

function sampleOf(takenAt: Date, counts: Readonly<Record<string, unknown>>): QueueSample {
  const count = (name: string): number => Number(counts[name] ?? 0);
  const time = (name: string): number | null => {
    const value = counts[name];
    return typeof value === "number" ? value : null;
  };
  const oldest = counts.oldest_due_at;
  return Object.freeze({
    takenAt,
    scheduled: count("scheduled"),
    pending: count("pending"),
    processing: count("processing"),
    deadLetter: count("dead_letter"),
    due: count("due"),
    retrying: count("retrying"),
    expired: count("expired"),
    oldestDueAt: typeof oldest === "string" ? new Date(oldest) : null,
    share: Number(counts.share ?? 1),
    workers: count("workers"),
    completedPerSecond: count("completedPerSecond"),
    retriedPerSecond: count("retriedPerSecond"),
    deadLetteredPerSecond: count("deadLetteredPerSecond"),
    claimP50Ms: time("claimP50Ms"),
    claimP99Ms: time("claimP99Ms"),
    handlerP50Ms: time("handlerP50Ms"),
    handlerP99Ms: time("handlerP99Ms"),
  });
}
