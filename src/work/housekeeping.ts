import { type Binder, binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { runOn } from "../database/run-on.js";
import {
  archiveDeadLetters,
  claimJobs,
  countStrayArchived,
  cutArchiveRest,
  dropArchiveDays,
  electHousekeeper,
  expireDedupe,
  expireFences,
  expireReceipts,
  findDuty,
  listQueues,
  listUnhandledKinds,
  makeArchiveDays,
  markStaleWorkers,
  recordDuty,
  removeDeadWorkers,
  takeSample,
} from "../database/statements.generated.js";
import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import type { Query } from "../seams/database.js";
import { defaults } from "../settings.js";

export interface HousekeepingSeams {
  readonly database: GuardedDatabase;
  readonly clock: Clock;
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

const dutyName = "housekeeping";

const idle: HousekeepingReport = {
  elected: false,
  workersMarked: [],
  removed: 0,
  daysMade: 0,
  daysDropped: 0,
};

/** Does a round unless the fleet had one within the time given, so that many workers on the same timer make one round, not many. */
export async function housekeepIfDue(
  seams: HousekeepingSeams,
  withinMs: number,
): Promise<HousekeepingReport> {
  const bind = binder({ schema: seams.schema, queue: defaults.queue });
  const [duty] = await seams.database.run(bind(findDuty, { name: dutyName, now: seams.clock.databaseNow() }));
  if (duty !== undefined && duty.ago_ms !== null && duty.ago_ms < withinMs) return idle;
  return await housekeep(seams);
}

/**
 * One round, by one process at a time: a transaction holds the election lock while the duties run on other connections, each a
 * bounded statement of its own, so that no lock is held longer than its statement.
 */
export async function housekeep(seams: HousekeepingSeams): Promise<HousekeepingReport> {
  const bind = binder({ schema: seams.schema, queue: defaults.queue });
  return await seams.database.transaction(async (tx) => {
    const [election] = await runOn(tx, bind(electHousekeeper, {}));
    if (election?.elected !== true) return idle;
    await seams.database.run(bind(recordDuty, { name: dutyName, now: seams.clock.databaseNow() }));
    return await duties(seams, bind);
  }, "ours");
}

async function duties(seams: HousekeepingSeams, bind: Binder): Promise<HousekeepingReport> {
  const { database } = seams;
  const now = seams.clock.databaseNow();
  const marked = (await database.run(bind(markStaleWorkers, { now }))).map((row) => row.id);
  let removed = await untilDone(seams, bind(removeDeadWorkers, { now }));
  const limits = { limit: defaults.expireRowsMax, handledRetentionMs: defaults.handledRetentionMs };
  removed += await untilDone(seams, bind(expireReceipts, { now, ...limits }));
  const fences = { now, limit: defaults.expireRowsMax, retentionMs: defaults.fenceRetentionMs };
  removed += await untilDone(seams, bind(expireFences, fences));
  const queues = await database.run(bind(listQueues, {}));
  const archive = { made: 0, dropped: 0 };
  const failures: unknown[] = [];
  for (const queue of queues) {
    try {
      removed += await keepQueue(seams, queue, archive);
    } catch (error) {
      failures.push(error); // The other queues are kept all the same.
    }
  }
  if (failures.length > 0) throw failures[0];
  seams.events.emit("housekeeping:finished", { queues: queues.length, workersMarked: marked, removed });
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
  await sweepLeases(seams, bind, queue.buckets);
  const limits = { now: seams.clock.databaseNow(), limit: defaults.expireRowsMax };
  const removed = await untilDone(seams, bind(expireDedupe, limits));
  const dead = { now: limits.now, limit: defaults.deadLetterRowsMax };
  const moved = await untilDone(seams, bind(archiveDeadLetters, dead));
  if (moved > 0) seams.events.emit("dead_letters:archived", { queue: queue.name, rows: moved });
  const days = await keepArchive(seams, bind, queue.name);
  archive.made += days.made;
  archive.dropped += days.dropped;
  await sample(seams, bind);
  await tellUnhandled(seams, bind, queue.name);
  return removed;
}

/**
 * The backstop for rows whose bucket nobody claims from: a claim of no rows gives back what was lost on its way. Goes through all keys of
 * the queue, or as far as it may in one round: it stops after half a second, because a held snapshot can make every look from the front dear.
 */
async function sweepLeases(seams: HousekeepingSeams, bind: Binder, buckets: number): Promise<void> {
  const { clock } = seams;
  // Where it begins changes with the time, so that a round which is cut short does not always leave out the same buckets.
  const start = Math.floor(clock.epochMs() / 1_000) % buckets;
  const untilMs = clock.monotonicMs() + defaults.sweepMsMax;
  let size: number = defaults.sweepBucketsMin;
  for (let done = 0; done < buckets && clock.monotonicMs() < untilMs; ) {
    const length = Math.min(size, buckets - done);
    const beganAtMs = clock.monotonicMs();
    await sweepSome(
      seams,
      bind,
      Array.from({ length }, (_, i) => (start + done + i) % buckets),
    );
    done += length;
    const isCheap = clock.monotonicMs() - beganAtMs < defaults.sweepCallMs;
    size = isCheap ? Math.min(size * 2, defaults.sweepBucketsMax) : defaults.sweepBucketsMin;
  }
}

/** All keys of these, in as many passes as it takes. */
async function sweepSome(seams: HousekeepingSeams, bind: Binder, buckets: readonly number[]): Promise<void> {
  let next = new Map(buckets.map((bucket) => [bucket, ""]));
  for (let pass = 0; pass < defaults.sweepPassesMax && next.size > 0; pass++) {
    const stops = await sweep(seams, bind, next);
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

/** Where the walk stopped in buckets with more keys than a pass visits. */
async function sweep(
  seams: HousekeepingSeams,
  bind: Binder,
  from: ReadonlyMap<number, string>,
): Promise<{ bucket: number; key: string }[]> {
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
  const stops: { bucket: number; key: string }[] = [];
  const rows = await seams.database.run({ ...query, repeatsWhenLocked: true });
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
  let made = await steps(async () => (await database.run(bind(makeArchiveDays, days)))[0]?.made ?? 0);
  if (areMany || rest?.is_cut === true) made += await cutRest(seams, bind, days);
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

/** Makes days beside a rest that is too large to be sorted in. */
async function cutRest(
  seams: HousekeepingSeams,
  bind: Binder,
  days: { readonly days: number; readonly now: Date | null },
): Promise<number> {
  let made = 0;
  for (let pass = 0; pass < defaults.archiveStepsMax; pass++) {
    const [row] = await seams.database.run(bind(cutArchiveRest, days));
    if (row === undefined || row.step === "done") break;
    if (row.step === "made") made += 1;
  }
  return made;
}

async function sample(seams: HousekeepingSeams, bind: Binder): Promise<void> {
  const limits = { keepMs: defaults.samplesKeepMs, bytesMax: defaults.sampleBytesMax };
  await seams.database.run(bind(takeSample, { now: seams.clock.databaseNow(), ...limits }));
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
