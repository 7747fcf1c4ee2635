import type { ClaimRow } from "../database/rows.js";
import { claimJobs, claimWoken as claimWokenJobs } from "../database/statements.generated.js";
import { InvalidOptionError } from "../errors.js";
import { checkedWorkerId } from "../membership/member-settings.js";
import type { Query } from "../seams/database.js";
import { defaults, wholeNumber } from "../settings.js";
import type { Drawn, PassOptions, WokenOptions } from "./claim-options.js";
import { isUnreadable, readPayloads } from "./claim-unread.js";
import { ClaimedRow } from "./claimed-row.js";
import { completeWithin } from "./complete-within.js";
import { isStorableText } from "./json.js";
import type { QueueSeams } from "./queue-seams.js";
import { announceToldDead, isToldDead } from "./told-dead.js";

/** Where the last pass stopped in each bucket. Only a hint: it makes every key get its turn. */
export interface Bookmarks {
  readonly afterKey: Map<number, string>;
  nextBucket: number;
}

/** Starts anywhere, so that claimers who remember nothing do not all look at the same place. */
export const newBookmarks = (anyBucket: number): Bookmarks => ({
  afterKey: new Map(),
  nextBucket: anyBucket,
});

/** What a pass gives: jobs, and what it saw of the rest. */
export interface ClaimPass {
  readonly jobs: readonly ClaimedRow[];
  /** Due rows left alone because they have attempts behind them and `retries` or `suspects` was used up. */
  readonly retriesLeft: number;
  /** Keys in process, and buckets being claimed from, by others. */
  readonly busyElsewhere: number;
  /** When the next row falls due, counted from the claim, as far as the pass saw; not told when it was filled. */
  readonly dueInMs: number | null;
  /** Buckets with more keys than the pass visited; true for those where it came round to where it began or before. */
  readonly stops: ReadonlyMap<number, boolean>;
  /** The buckets it looked at. */
  readonly looked: readonly number[];
  /** Buckets in which somebody else may have taken rows since this claimer did, and the turn that began with this claim; null when they were not visited. */
  readonly foreign: ReadonlyMap<number, bigint | null>;
  /** Right before the first unfinished row, in buckets of a queue without order where that was asked for. */
  readonly fronts: ReadonlyMap<number, string>;
  /** Up to where there is nothing for this claimer, in buckets of a queue without order that have rows older than a minute. */
  readonly ends: ReadonlyMap<number, string>;
  /** About how many bytes the payloads and headers of the jobs have as text. */
  readonly bytes: number;
  /** True when only the limit of bytes kept it from taking more. */
  readonly isCut: boolean;
}

/**
 * A claim waits 100 ms at most for whatever stands in its way: a person, or a vacuum that gives the end of a table back. And a worker must not stand still for as long as
 * other statements may take, because its connection leads nowhere: rows that it never heard of are taken over by its next claim.
 */
const patience = { repeatsWhenLocked: true, timeoutMs: defaults.claimTimeoutMs };

/** One pass: takes rows from the front of their lines and writes a lease on them. */
export async function claim(
  seams: QueueSeams,
  bookmarks: Bookmarks,
  options: PassOptions,
): Promise<ClaimPass> {
  const { settings, database } = seams;
  const workerId = checkedWorkerId(options.workerId);
  const inTurn = rotated(checkedBuckets(options.buckets, settings.buckets), bookmarks);
  const known = options.known?.map(({ bucket }) => bucket);
  const buckets = known ?? options.among?.(inTurn) ?? inTurn;
  // Whoever claims beside this one begins behind it.
  const behind = known === undefined ? behindLast(inTurn, buckets) : null;
  if (behind !== null) bookmarks.nextBucket = behind;
  const query = claimQuery(seams, bookmarks, { ...options, workerId, buckets });
  const again = options.knownTokens === undefined ? null : () => query;
  const rows = await database.run(query, again, options.onUnsure).catch(async (error: unknown) => {
    if (!isUnreadable(error)) throw error;
    return await claimUnread(seams, bookmarks, { ...options, workerId, buckets });
  });
  const pass = read(seams, rows, { bookmarks, workerId, looked: buckets, onDrawn: options.onDrawn });
  if (bookmarks.nextBucket === behind) bookmarks.nextBucket = turn(inTurn, buckets, pass.jobs);
  return pass;
}

/** A few rows without their payloads, which are then read one by one. */
async function claimUnread(
  seams: QueueSeams,
  bookmarks: Bookmarks,
  options: PassOptions & { readonly buckets: readonly number[] },
): Promise<readonly ClaimRow[]> {
  const limit = Math.min(options.limit ?? defaults.claimLimit, defaults.claimUnreadRows);
  const query = claimQuery(seams, bookmarks, { ...options, limit, bytes: 0 });
  const rows = await seams.database.run(query, null, options.onUnsure);
  return await readPayloads(seams, rows, options.workerId);
}

/**
 * The pass of a worker that was woken for fresh rows in a few buckets. Takes nothing over, so it is not repeated when its answer is lost. Null when there is something in these buckets that
 * only claim() can take.
 */
export async function claimWoken(
  seams: QueueSeams,
  bookmarks: Bookmarks,
  options: WokenOptions,
): Promise<ClaimPass | null> {
  const { workerId, buckets, limit, run, leaseMs, bytes } = options;
  const query = seams.bind(claimWokenJobs, {
    workerId,
    buckets,
    limit,
    run,
    leaseMs: BigInt(leaseMs),
    bytes: BigInt(bytes),
    turns: turnsFor(options),
    generation: options.generation ?? null,
    kinds: checkedKinds(options.kinds),
    now: seams.clock.databaseNow(),
  });
  const rows = await seams.database.run({ ...query, ...patience }, null).catch((error: unknown) => {
    if (isUnreadable(error)) return null;
    throw error;
  });
  if (rows?.some((row) => !isJob(row) && row.kind === "look") !== false) return null;
  return read(seams, rows, { bookmarks, workerId, looked: buckets });
}

/** What came back. Moves the bookmarks. */
function read(
  seams: QueueSeams,
  rows: readonly ClaimRow[],
  {
    bookmarks,
    workerId,
    looked,
    onDrawn,
  }: {
    readonly bookmarks: Bookmarks;
    readonly workerId: string;
    readonly looked: readonly number[];
    readonly onDrawn?: PassOptions["onDrawn"];
  },
): ClaimPass {
  const { rest, stops, foreign, fronts, ends, drawn } = notes(rows, bookmarks);
  if (drawn !== null) onDrawn?.(drawn);
  announceToldDead(seams.events, seams.settings.name, rows);
  const jobs = inOrder(seams, rest, { rows, workerId });
  const [first] = jobs;
  if (first !== undefined) {
    seams.events.emit("jobs:claimed", {
      queue: seams.settings.name,
      workerId,
      count: jobs.length,
      token: first.fenceToken,
    });
  }
  return {
    jobs,
    retriesLeft: rest?.attempts ?? 0,
    busyElsewhere: rest?.crashes ?? 0,
    dueInMs: rest === null || rest.seq === null ? null : Number(rest.seq),
    stops,
    looked,
    foreign,
    fronts,
    ends,
    bytes: rest?.max_attempts ?? 0,
    isCut: rest?.priority === 1,
  };
}

/** What the pass says besides jobs. Moves the bookmarks. */
function notes(
  rows: readonly ClaimRow[],
  bookmarks: Bookmarks,
): Pick<ClaimPass, "stops" | "foreign" | "fronts" | "ends"> & {
  readonly rest: ClaimRow | null;
  readonly drawn: Drawn | null;
} {
  const stops = new Map<number, boolean>();
  const foreign = new Map<number, bigint | null>();
  const fronts = new Map<number, string>();
  const ends = new Map<number, string>();
  let rest: ClaimRow | null = null;
  let drawn: Drawn | null = null;
  for (const row of rows) {
    if (isJob(row) || isToldDead(row)) continue;
    if (row.kind === "drawn") {
      const [xmin = "0", xmax = "0"] = row.partition_key?.split(":") ?? [];
      drawn = { seq: BigInt(row.seq ?? 0), xmin: BigInt(xmin), xmax: BigInt(xmax) };
      continue;
    }
    if (row.partition_bucket === null) {
      rest = row;
      continue;
    }
    if (row.kind === "turn") {
      foreign.set(row.partition_bucket, row.seq === null ? null : BigInt(row.seq));
      continue;
    }
    const key = row.partition_key ?? "";
    if (row.kind === "front" || row.kind === "end") {
      (row.kind === "front" ? fronts : ends).set(row.partition_bucket, key);
      continue;
    }
    stops.set(row.partition_bucket, hasComeRound(key, bookmarks.afterKey.get(row.partition_bucket)));
    bookmarks.afterKey.set(row.partition_bucket, key);
  }
  return { rest, stops, foreign, fronts, ends, drawn };
}

/** Rows arrive as they lie on disk, which is nearly always the order that they have in the queue already. */
function inOrder(
  seams: QueueSeams,
  rest: ClaimRow | null,
  { rows, workerId }: { readonly rows: readonly ClaimRow[]; readonly workerId: string },
): readonly ClaimedRow[] {
  const shares = {
    queue: seams.settings.name,
    workerId,
    token: BigInt(rest?.lease_generation ?? 0),
    claimedAt: new Date(rest?.claimed_ms ?? 0),
    leaseExpiresAt: new Date(rest?.expires_ms ?? 0),
    complete: (job: ClaimedRow) => completeWithin(seams, job),
  };
  const jobs: ClaimedRow[] = [];
  for (const row of rows) if (isJob(row)) jobs.push(new ClaimedRow(row, shares));
  const compare = seams.settings.order === "key" ? bySeq : byUrgency;
  const isSorted = jobs.every((job, i) => i === 0 || compare(jobs[i - 1] ?? job, job) <= 0);
  return isSorted ? jobs : jobs.sort(compare);
}

function bySeq(left: ClaimedRow, right: ClaimedRow): number {
  return left.seq < right.seq ? -1 : Number(left.seq > right.seq);
}

function byUrgency(left: ClaimedRow, right: ClaimedRow): number {
  const due = left.availableAt.getTime() - right.availableAt.getTime();
  return left.priority - right.priority || due || bySeq(left, right);
}

function claimQuery(
  seams: QueueSeams,
  bookmarks: Bookmarks,
  options: PassOptions & { readonly buckets: readonly number[] },
): Query<ClaimRow> {
  const { buckets, workerId } = options;
  const most = { min: 0, max: defaults.claimLimitMax };
  const limit = wholeNumber("limit", options.limit, { ...most, fallback: defaults.claimLimit });
  const leaseMs = wholeNumber("leaseMs", options.leaseMs, {
    fallback: defaults.leaseMs,
    min: defaults.leaseMsMin,
    max: defaults.leaseMsMax,
  });
  const query = seams.bind(claimJobs, {
    workerId,
    buckets,
    after: buckets.map((bucket) => options.afterOf?.(bucket) ?? bookmarks.afterKey.get(bucket) ?? ""),
    limit,
    run: wholeNumber("run", options.run, { ...most, fallback: defaults.runRows, min: 1 }),
    retries: wholeNumber("retries", options.retries, { ...most, fallback: limit }),
    suspects: wholeNumber("suspects", options.suspects, { ...most, fallback: defaults.suspectsMax }),
    leaseMs: BigInt(leaseMs),
    bytes: BigInt(options.bytes ?? defaults.claimBytesMax),
    knownTokens: options.knownTokens ?? null,
    keys: options.known?.map(({ key }) => key) ?? null,
    floors: options.known?.map(({ floor }) => floor) ?? null,
    turns: turnsFor(options),
    generation: options.generation ?? null,
    kinds: checkedKinds(options.kinds),
    now: seams.clock.databaseNow(),
  });
  return { ...query, ...patience };
}

function checkedKinds(kinds: unknown): readonly string[] | null {
  if (kinds === undefined) return null;
  if (!Array.isArray(kinds) || kinds.some((kind) => typeof kind !== "string" || !isStorableText(kind)))
    throw new InvalidOptionError("kinds", kinds, "an array of kinds");
  return kinds;
}

function turnsFor({ buckets, known, turnOf }: PassOptions): readonly bigint[] | null {
  return known?.map((one) => one.turn) ?? (turnOf === undefined ? null : (buckets ?? []).map(turnOf));
}

/** In the order of the database, which is by bytes. */
function hasComeRound(key: string, after: string | undefined): boolean {
  return after !== undefined && Buffer.compare(Buffer.from(key), Buffer.from(after)) <= 0;
}

function isJob(row: ClaimRow): row is ClaimRow & { readonly id: string } {
  return row.id !== null;
}

/** Starts behind the last bucket that gave rows, so that every bucket gets its turn. */
function rotated(buckets: readonly number[], bookmarks: Bookmarks): readonly number[] {
  const start = buckets.indexOf(bookmarks.nextBucket);
  return start <= 0 ? buckets : [...buckets.slice(start), ...buckets.slice(0, start)];
}

function behindLast(inTurn: readonly number[], looked: readonly number[]): number {
  return inTurn[(inTurn.indexOf(looked.at(-1) ?? -1) + 1) % inTurn.length] ?? 0;
}

/** Behind the last bucket that gave rows; behind all that were looked at when none did. */
function turn(inTurn: readonly number[], looked: readonly number[], jobs: readonly ClaimedRow[]): number {
  const served = new Set(jobs.map((job) => job.bucket));
  const last =
    served.size === 0
      ? (looked.length % inTurn.length) - 1
      : inTurn.findLastIndex((bucket) => served.has(bucket));
  return inTurn[(last + 1) % inTurn.length] ?? 0;
}

function checkedBuckets(wanted: readonly number[] | undefined, count: number): readonly number[] {
  if (wanted === undefined) return Array.from({ length: count }, (_, bucket) => bucket);
  if (!Array.isArray(wanted)) throw new InvalidOptionError("buckets", wanted, "an array of whole numbers");
  const distinct = [...new Set(wanted)];
  for (const bucket of distinct) {
    if (!Number.isInteger(bucket) || bucket < 0 || bucket >= count) {
      throw new InvalidOptionError("buckets", bucket, `whole numbers from 0 to ${count - 1}`);
    }
  }
  return distinct;
}
