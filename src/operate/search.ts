import { primaryReader } from "../database/reader.js";
import { type JobRow, toJobRecord } from "../database/rows.js";
import {
  findBucket,
  searchArchivedJobs,
  searchDeadLetters,
  searchHeldJobs,
  searchJobs,
  searchLine,
} from "../database/statements.generated.js";
import type { Query } from "../seams/database.js";
import { defaults, wholeNumber } from "../settings.js";
import type { JobRecord } from "../work/job.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { payloadBytesOf } from "./list.js";
import { fromCursor, type Place, type Position, placesOf, startOf, toCursor } from "./search-cursor.js";
import { checkedSearch, type SearchFilter, type SearchWords } from "./search-filter.js";

/** What a search has found so far. */
export interface SearchPage<R = JobRecord> {
  /** Newest first; dead letters of the queue by when they died; jobs in process oldest first, since those are at the front. */
  readonly jobs: readonly R[];
  /** How many rows this call has looked at. */
  readonly looked: number;
  /** What to give to the next call; null when everything was looked at. */
  readonly cursor: string | null;
}

/**
 * Looks at a bounded number of rows and says how far it has come, also when it has found nothing yet: without an index for every question, a complete answer may take minutes.
 * Dead letters that let their key go on have an index, so a search for them looks at nothing else, and so has what is in line of a key.
 */
export async function search(seams: QueueSeams, filter: SearchFilter): Promise<SearchPage> {
  const words = checkedSearch(filter, seams.settings);
  const places = placesOf(filter, seams.settings);
  const limit = wholeNumber("limit", filter.limit, {
    fallback: defaults.listLimit,
    min: 1,
    max: defaults.listLimitMax,
  });
  let position: Position | null =
    filter.cursor === undefined ? startOf(places[0] ?? "queue") : fromCursor(filter.cursor, places);
  // Rows by id lie side by side, about ten to a page. Those of a key, or dead ones, may each need a page of their own.
  const isScattered = places[0] === "dead" || places[0] === "line";
  const rowsMax = isScattered ? defaults.searchScatteredRowsMax : defaults.searchRowsMax;
  // A job that moves from one place to the next would be found twice, or not at all, if they were not of the same server.
  const asked = places.length > 1 ? { ...seams, reads: primaryReader(seams.database) } : seams;
  const jobs: JobRecord[] = [];
  let looked = 0;
  while (position !== null && jobs.length < limit && looked < rowsMax) {
    const bounds = {
      limit: limit - jobs.length,
      rows: rowsMax - looked,
      payloadBytes: payloadBytesOf(limit),
    };
    const step = await walk(asked, words, position, bounds);
    jobs.push(...step.jobs);
    looked += step.looked;
    const next: Place | undefined = places[places.indexOf(position.place) + 1];
    if (!step.isEnd) position = step.last;
    else position = next === undefined ? null : startOf(next, step.last);
  }
  return { jobs, looked, cursor: position === null ? null : toCursor(position) };
}

interface Step {
  readonly jobs: readonly JobRecord[];
  readonly looked: number;
  /** The last row that was looked at. */
  readonly last: Position;
  /** This place was looked through to its end. */
  readonly isEnd: boolean;
}

type Row = NonNullable<(typeof searchJobs)["row"]> & {
  readonly last_rank?: string | null;
  readonly last_at_us?: string | null;
  readonly now_us?: string;
};

interface Bounds {
  readonly limit: number;
  readonly rows: number;
  readonly payloadBytes: number;
}

async function walk(
  seams: QueueSeams,
  words: SearchWords,
  position: Position,
  bounds: Bounds,
): Promise<Step> {
  const rows = await seams.reads.run(await queryOf(seams, words, position, bounds));
  const [first] = rows;
  const beganAtUs = position.beganAtUs ?? (first?.now_us === undefined ? null : BigInt(first.now_us));
  return {
    jobs: rows.filter((row) => row.id !== null).map((row) => toJobRecord(row as JobRow, seams.settings.name)),
    looked: Number(first?.looked ?? 0),
    last: { ...position, beganAtUs, ...lastOf(first) },
    isEnd: first === undefined || first.is_end,
  };
}

/** Nothing when no row was looked at. */
function lastOf(row: Row | undefined): Partial<Position> {
  const { last_id: id = null, last_rank: rank = null, last_at_us: at = null } = row ?? {};
  if (id === null) return {};
  return {
    id,
    ...(rank === null ? {} : { rank: BigInt(rank) }),
    ...(at === null ? {} : { atUs: BigInt(at) }),
  };
}

async function queryOf(
  seams: QueueSeams,
  words: SearchWords,
  { place, rank, id, atUs, beganAtUs, deadId }: Position,
  bounds: Bounds,
): Promise<Query<Row>> {
  const { bind } = seams;
  const given = { ...words, ...bounds, now: seams.clock.databaseNow() };
  switch (place) {
    case "queue":
      return bind(searchJobs, { ...given, before: id });
    case "held":
      return bind(searchHeldJobs, { ...given, after: id });
    case "line": {
      const partitionKey = words.partitionKey ?? "";
      const bucket = await bucketOf(seams, partitionKey);
      return bind(searchLine, { ...given, partitionKey, bucket, beforeSeq: rank });
    }
    case "dead":
      return bind(searchDeadLetters, { ...given, before: id, beforeAtUs: rank });
    case "archive":
      return bind(searchArchivedJobs, {
        ...given,
        before: id,
        beforeAtUs: atUs,
        movedBeforeUs: beganAtUs,
        diedBeforeUs: rank,
        diedBeforeId: deadId,
      });
    default:
      return place satisfies never;
  }
}

async function bucketOf({ reads, bind, settings }: QueueSeams, key: string): Promise<number> {
  const [found] = await reads.run(bind(findBucket, { key, buckets: settings.buckets }));
  return found?.bucket ?? 0;
}
