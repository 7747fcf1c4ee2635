import { groupDeadLetters, groupParkedDeadLetters } from "../database/statements.generated.js";
import type { OptionNames } from "../option-names.js";
import { defaults, wholeNumber } from "../settings.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { checkedText } from "./checked-text.js";
import { fromCursor, type Position, startOf, toCursor } from "./search-cursor.js";

/** Dead letters of one kind whose errors differ only in numbers, ids and quoted values. */
export interface DeadLetterGroup {
  /** For retry(), discard() and search(). */
  readonly fingerprint: string;
  readonly kind: string;
  /** The error of the newest one, cut at 1 000 characters; null when none was kept. */
  readonly error: string | null;
  /** Among those that were looked at. */
  readonly count: number;
  /** When the first and the last of them died. */
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** The id of the newest one. */
  readonly sampleId: string;
}

export interface DeadLetterGroups {
  /** Largest first. */
  readonly groups: readonly DeadLetterGroup[];
  /** Groups that the limit left out. */
  readonly omitted: number;
  /** How many rows this call has looked at, newest first. */
  readonly looked: number;
  /** What to give to the next call, for older dead letters; null when all were looked at. */
  readonly cursor: string | null;
}

export interface DeadLetterOptions {
  readonly kind?: string | undefined;
  /** How many groups at most; 100. */
  readonly limit?: number | undefined;
  /** Where the call before ended. Groups of both may have the same fingerprint and kind. */
  readonly cursor?: string | undefined;
}

export const deadLetterOptionNames: OptionNames<DeadLetterOptions> = Object.freeze({
  kind: true,
  limit: true,
  cursor: true,
});

/** Groups the newest dead letters of the queue's table, a bounded number of them. Those in the archive are not counted: a retry of a group does not reach them. */
export async function deadLetters(seams: QueueSeams, options: DeadLetterOptions): Promise<DeadLetterGroups> {
  const isParked = seams.settings.onDeadLetter === "park";
  const place = isParked ? "queue" : "dead";
  const { id: before, rank } =
    options.cursor === undefined ? startOf(place) : fromCursor(options.cursor, [place]);
  const rowsMax = isParked ? defaults.searchRowsMax : defaults.searchScatteredRowsMax;
  const given = {
    before,
    kind: checkedText("kind", options.kind),
    rows: rowsMax,
    limit: wholeNumber("limit", options.limit, {
      fallback: defaults.deadLetterGroups,
      min: 1,
      max: defaults.deadLetterGroupsMax,
    }),
    errorMax: defaults.errorExampleMax,
  };
  const rows: readonly Row[] = isParked
    ? await seams.reads.run(seams.bind(groupParkedDeadLetters, given))
    : await seams.reads.run(seams.bind(groupDeadLetters, { ...given, beforeAtUs: rank }));
  const [first] = rows;
  const looked = Number(first?.looked ?? 0);
  const groups = rows.flatMap(groupOf);
  const end: Position | null =
    first === undefined || looked < rowsMax
      ? null
      : { ...startOf(place), rank: microseconds(first.last_at_us), id: first.last_id };
  return {
    groups,
    omitted: Number(first?.groups ?? 0) - groups.length,
    looked,
    cursor: end === null ? null : toCursor(end),
  };
}

type Row = NonNullable<(typeof groupParkedDeadLetters)["row"]> & { readonly last_at_us?: string | null };

function groupOf(row: Row): readonly DeadLetterGroup[] {
  const { fingerprint, kind, first_at: firstAt, last_at: lastAt, sample_id: sampleId } = row;
  if (fingerprint === null || kind === null || firstAt === null || lastAt === null || sampleId === null)
    return [];
  const count = Number(row.count);
  return [Object.freeze({ fingerprint, kind, error: row.error, count, firstAt, lastAt, sampleId })];
}

function microseconds(text: string | null | undefined): bigint | null {
  return text === null || text === undefined ? null : BigInt(text);
}
