import { type Binder, binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import type { ClaimRow } from "../database/rows.js";
import {
  archiveDeadLetters,
  claimJobs,
  countStrayArchived,
  dropArchiveDays,
  expireDedupe,
  expireFences,
  expireReceipts,
  listQueues,
  listUnhandledKinds,
  makeArchiveDays,
  markStaleWorkers,
  removeDeadWorkers,
  takeSample,
  trimHistory,
} from "../database/statements.generated.js";
import { UnknownQueueError } from "../errors.js";
import type { Events } from "../events.js";
import { recentWorkOn, sampledWork } from "../operate/recent.js";
import { listWorkers } from "../operate/workers.js";
import type { Clock } from "../seams/clock.js";
import type { Query } from "../seams/database.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import { Duty } from "./duty.js";
import { jobIds } from "./job-id.js";
import { announceToldDead } from "./told-dead.js";

export interface HousekeepingSeams {
  readonly database: GuardedDatabase;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
  readonly schema: string;
}

export interface HousekeepingReport {
  /** False when another process was at it; then nothing else was done. */
  readonly elected: boolean;
  readonly workersMarked: readonly string[];
  readonly removed: number;
  readonly daysMade: number;
  readonly daysDropped: number;
}

const idle: HousekeepingReport = {
  elected: false,
  workersMarked: [],
  removed: 0,
  daysMade: 0,
  daysDropped: 0,
};

/** One round, unless another is under way. */
export async function housekeep(seams: HousekeepingSeams): Promise<HousekeepingReport> {
  return await housekeepIfDue(seams, 0);
}

/**
 * One round, by one process at a time, unless the fleet had one within the time given: many workers on the same timer make one round, not many. Each duty is a bounded statement of its own
 * that may be repeated, so no lock is held longer than its statement, and a second round beside it does no harm.
 */
export async function housekeepIfDue(
  seams: HousekeepingSeams,
  withinMs: number,
): Promise<HousekeepingReport> {
  const bind = binder({ schema: seams.schema, queue: defaults.queue });
  const duty = new Duty({ ...seams, bind }, "housekeeping", jobIds(seams.clock, seams.random)());
  if (!(await duty.take(withinMs))) return idle;
  try {
    return await duties(seams, bind, duty);
  } finally {
    await duty.end();
  }
}

async function duties(seams: HousekeepingSeams, bind: Binder, duty: Duty): Promise<HousekeepingReport> {
  const { database } = seams;
  const now = seams.clock.databaseNow();
  const beganAtMs = seams.clock.monotonicMs();
  const marked = (await database.run(bind(markStaleWorkers, { now }))).map((row) => row.id);
  let removed = await untilDone(seams, bind(removeDeadWorkers, { now }));
  const limits = { limit: defaults.expireRowsMax, handledRetentionMs: defaults.handledRetentionMs };
  removed += await untilDone(seams, bind(expireReceipts, { now, ...limits }));
  const fences = { now, limit: defaults.expireRowsMax, retentionMs: defaults.fenceRetentionMs };
  removed += await untilDone(seams, bind(expireFences, fences));
  await untilDone(seams, bind(trimHistory, { now }));
  const queues = await database.run(bind(listQueues, {}));
  const archive = { made: 0, dropped: 0 };
  const failures: unknown[] = [];
  for (const queue of queues) {
    if (!(await duty.hold())) break;
    try {
      removed += await keepQueue(seams, queue, archive);
    } catch (error) {
      // The other queues are kept all the same. One that was dropped meanwhile needs nothing.
      if (!(error instanceof UnknownQueueError)) failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  const tookMs = seams.clock.monotonicMs() - beganAtMs;
  seams.events.emit("housekeeping:finished", {
    queues: queues.length,
    workersMarked: marked,
    removed,
    tookMs,
  });
  return {
    elected: true,
    workersMarked: marked,
    removed,
    daysMade: archive.made,
    daysDropped: archive.dropped,
  };
}

async function keepQueue(
  seams: HousekeepingSeams,
  queue: { readonly name: string; readonly buckets: number },
  archive: { made: number; dropped: number },
): Promise<number> {
  const bind = binder({ schema: seams.schema, queue: queue.name });
  await sweepLeases(seams, bind, queue);
  const limits = { now: seams.clock.databaseNow(), limit: defaults.expireRowsMax };
  const removed = await untilDone(seams, bind(expireDedupe, limits));
  const dead = { now: limits.now, limit: defaults.deadLetterRowsMax };
  const moved = await untilDone(seams, bind(archiveDeadLetters, dead));
  if (moved > 0) seams.events.emit("dead_letters:archived", { queue: queue.name, rows: moved });
  const days = await keepArchive(seams, bind, queue.name);
  archive.made += days.made;
  archive.dropped += days.dropped;
  await sample(seams, bind, queue.name);
  await tellUnhandled(seams, bind, queue.name);
  return removed;
}

/**
 * The backstop for rows whose bucket nobody claims from: a claim of no rows gives back what was lost on its way. Goes through all keys of
 * the queue, or as far as it may in one round: it stops after half a second, because a held snapshot can make every look from the front dear.
 */
async function sweepLeases(
  seams: HousekeepingSeams,
  bind: Binder,
  { name, buckets }: { readonly name: string; readonly buckets: number },
): Promise<void> {
  const { clock } = seams;
  const answered = (rows: readonly ClaimRow[]): void => announceToldDead(seams.events, name, rows);
  // Where it begins changes with the time, so that a round which is cut short does not always leave out the same buckets.
  const start = Math.floor(clock.epochMs() / 1_000) % buckets;
  const untilMs = clock.monotonicMs() + defaults.sweepMsMax;
  let size: number = defaults.sweepBucketsMin;
  for (let done = 0; done < buckets && clock.monotonicMs() < untilMs; ) {
    const length = Math.min(size, buckets - done);
    const beganAtMs = clock.monotonicMs();
    const some = Array.from({ length }, (_, i) => (start + done + i) % buckets);
    await sweepSome(seams, bind, some, answered);
    done += length;
    const isCheap = clock.monotonicMs() - beganAtMs < defaults.sweepCallMs;
    size = isCheap ? Math.min(size * 2, defaults.sweepBucketsMax) : defaults.sweepBucketsMin;
  }
}

/** All keys of these, in as many passes as it takes. */
async function sweepSome(
  seams: HousekeepingSeams,
  bind: Binder,
  buckets: readonly number[],
  answered: (rows: readonly ClaimRow[]) => void,
): Promise<void> {
  let next = new Map(buckets.map((bucket) => [bucket, ""]));
  for (let pass = 0; pass < defaults.sweepPassesMax && next.size > 0; pass++) {
    const rows = await sweep(seams, bind, next);
    answered(rows);
    const stops = stopsIn(rows);
    next = new Map(
      stops
        .filter((stop) => isAfter(stop.key, next.get(stop.bucket) ?? ""))
        .map((stop) => [stop.bucket, stop.key]),
    );
  }
}

/** In the order of the database (bytes); a walk that stops before where it started has gone round. */
function isAfter(key: string, start: string): boolean {
  return Buffer.compare(Buffer.from(key), Buffer.from(start)) > 0;
}

/** One pass over these buckets. */
async function sweep(
  seams: HousekeepingSeams,
  bind: Binder,
  from: ReadonlyMap<number, string>,
): Promise<readonly ClaimRow[]> {
  const query = bind(claimJobs, {
    workerId: "housekeeping",
    buckets: [...from.keys()],
    after: [...from.values()],
    limit: 0,
    run: defaults.runRows,
    retries: 0,
    suspects: 0,
    leaseMs: 0n,
    bytes: BigInt(defaults.claimBytesMax),
    knownTokens: null,
    keys: null,
    floors: null,
    turns: null,
    generation: null,
    kinds: null,
    now: seams.clock.databaseNow(),
  });
  return await seams.database.run({ ...query, repeatsWhenLocked: true });
}

/** Where the walk stopped in buckets with more keys than a pass visits. */
function stopsIn(rows: readonly ClaimRow[]): { bucket: number; key: string }[] {
  const stops: { bucket: number; key: string }[] = [];
  for (const { partition_bucket: bucket, partition_key: key } of rows) {
    if (bucket !== null && key !== null) stops.push({ bucket, key });
  }
  return stops;
}

/** Each step is a transaction of its own, so that no settle waits for more than one of them. */
async function keepArchive(
  seams: HousekeepingSeams,
  bind: Binder,
  queue: string,
): Promise<{ made: number; dropped: number }> {
  const { database } = seams;
  const days = { days: defaults.archiveDaysAhead, now: seams.clock.databaseNow() };
  const limit = defaults.archiveStraysMax + 1;
  const [rest] = await database.run(bind(countStrayArchived, { limit, now: days.now }));
  const strays = Number(rest?.strays ?? 0);
  const areMany = strays > defaults.archiveStraysMax;
  // Many stay for as long as the retention says; that they are there is told while more of them come.
  if (strays > 0 && (!areMany || rest?.lacks_today === true))
    seams.events.emit("archive:strayed", { queue, rows: strays });
  const made = await steps(async () => (await database.run(bind(makeArchiveDays, days)))[0]?.made ?? 0);
  const dropped = await steps(
    async () => (await database.run(bind(dropArchiveDays, { now: days.now })))[0]?.dropped ?? 0,
  );
  return { made, dropped };
}

async function steps(step: () => Promise<number>): Promise<number> {
  let total = 0;
  for (let pass = 0; pass < defaults.archiveStepsMax; pass++) {
    const count = await step();
    if (count === 0) break;
    total += count;
  }
  return total;
}

/** With what the workers of the queue told of their last minutes, so that charts have rates and times too. */
async function sample(seams: HousekeepingSeams, bind: Binder, queue: string): Promise<void> {
  const limits = { keepMs: defaults.samplesKeepMs, bytesMax: defaults.sampleBytesMax };
  const recent = sampledWork(recentWorkOn(await listWorkers({ ...seams, bind }), queue));
  await seams.database.run(
    bind(takeSample, { now: seams.clock.databaseNow(), recent: JSON.stringify(recent), ...limits }),
  );
}

async function tellUnhandled(seams: HousekeepingSeams, bind: Binder, queue: string): Promise<void> {
  const limits = { limit: defaults.unhandledRowsMax, now: seams.clock.databaseNow() };
  for (const { kind, rows } of await seams.database.run(bind(listUnhandledKinds, limits)))
    seams.events.emit("kind:unhandled", { queue, kind, jobs: Number(rows) });
}

/** Repeats a bounded removal until it finds nothing, or as often as a round may. */
async function untilDone(
  seams: HousekeepingSeams,
  query: Query<{ readonly removed: string }>,
): Promise<number> {
  let removed = 0;
  for (let pass = 0; pass < defaults.expirePassesMax; pass++) {
    const [row] = await seams.database.run(query);
    const count = Number(row?.removed ?? 0);
    removed += count;
    if (count === 0) break;
  }
  return removed;
}
