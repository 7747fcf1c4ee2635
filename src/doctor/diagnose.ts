import { binder } from "../database/bind.js";
import { primaryReader } from "../database/reader.js";
import {
  countRecentDead,
  listPoisonJobs,
  listSnapshotHolders,
  listUnhandledKinds,
  readQueueStorage,
  readServerHealth,
  sampleKeys,
} from "../database/statements.generated.js";
import { readHistory } from "../history/read.js";
import { type Leasehold, surroundingsOf } from "../leasehold.js";
import { ringOf } from "../membership/owned-buckets.js";
import type { QueueSummary } from "../operate/queues.js";
import { recentWorkOn } from "../operate/recent.js";
import { countsOf } from "../operate/stats.js";
import { unlessDropped } from "../operate/unless-dropped.js";
import { isLiveOn, type WorkerRow } from "../operate/workers.js";
import type { Query } from "../seams/database.js";
import { defaults } from "../settings.js";
import type { Facts, QueueFacts } from "./facts.js";
import { type Finding, inOrder } from "./finding.js";
import { fleetFindings } from "./fleet-rules.js";
import { queueFindings } from "./queue-rules.js";
import { serverFindings } from "./server-rules.js";

export interface Diagnosis {
  /** By the database's clock. */
  readonly at: Date;
  readonly queues: readonly string[];
  /** The worst first; empty when nothing is wrong. */
  readonly findings: readonly Finding[];
  readonly tookMs: number;
}

/** Looks at the server, the fleet and every queue, and names what is wrong, with evidence and the first move. Changes nothing and locks nothing. */
export async function diagnose(lh: Leasehold): Promise<Diagnosis> {
  const { clock } = surroundingsOf(lh);
  const startedAtMs = clock.monotonicMs();
  const facts = await gather(lh);
  const findings = inOrder([...serverFindings(facts), ...fleetFindings(facts), ...queueFindings(facts)]);
  return Object.freeze({
    at: facts.now,
    queues: facts.queues.map(({ summary }) => summary.name),
    findings,
    tookMs: Math.round(clock.monotonicMs() - startedAtMs),
  });
}

async function gather(lh: Leasehold): Promise<Facts> {
  const { database, bind, clock } = surroundingsOf(lh);
  const askedAtMs = clock.epochMs();
  const server = await first(database.run(bind(readServerHealth, { now: clock.databaseNow() })));
  const answeredAtMs = clock.epochMs();
  const now = server.now;
  // A test that sets the database's time says nothing about clocks.
  const aheadMs = clock.databaseNow() === null ? skewMs(askedAtMs, answeredAtMs, now.getTime()) : null;
  const [holders, workers, history, queues] = await Promise.all([
    database.run(bind(listSnapshotHolders, { limit: defaults.doctorHoldersMax })),
    lh.workers(),
    readHistory(
      { reads: primaryReader(database), bind },
      {
        from: new Date(now.getTime() - defaults.doctorHistoryMs),
        kind: ["worker:joined", "worker:dead"],
        limit: defaults.doctorHistoryMax,
      },
    ),
    lh.queues(),
  ]);
  const looked: QueueFacts[] = [];
  for (const summary of queues.slice(0, defaults.doctorQueuesMax)) {
    const facts = await unlessDropped(gatherQueue(lh, summary, workers));
    if (facts !== null) looked.push(facts);
  }
  return { schema: lh.schema, now, aheadMs, server, holders, workers, history, queues: looked };
}

/** 0 while the database's time lies between the question and the answer. */
function skewMs(askedAtMs: number, answeredAtMs: number, databaseMs: number): number {
  if (databaseMs < askedAtMs) return askedAtMs - databaseMs;
  return databaseMs > answeredAtMs ? answeredAtMs - databaseMs : 0;
}

async function gatherQueue(
  lh: Leasehold,
  summary: QueueSummary,
  workers: readonly WorkerRow[],
): Promise<QueueFacts> {
  const { database, clock } = surroundingsOf(lh);
  const bind = binder({ schema: lh.schema, queue: summary.name });
  const now = clock.databaseNow();
  const part = { now, bytesMax: defaults.sampleBytesMax, limit: defaults.doctorKeysMax };
  const run = <R>(query: Query<R>): Promise<readonly R[]> => database.run(query);
  const [counts, storage, keys, poison, dead, unhandled] = await Promise.all([
    countsOf({ reads: primaryReader(database), bind, clock }, { exact: false }),
    first(run(bind(readQueueStorage, {}))),
    run(bind(sampleKeys, { ...part, lagMs: defaults.doctorLagMs })),
    run(bind(listPoisonJobs, part)),
    first(run(bind(countRecentDead, { now, bytesMax: defaults.sampleBytesMax }))),
    run(bind(listUnhandledKinds, { now, limit: defaults.unhandledRowsMax })),
  ]);
  const ring = ringOf(
    summary,
    workers.filter((worker) => isLiveOn(worker, summary.name)),
  );
  const stats = { ...counts, recent: recentWorkOn(workers, summary.name) };
  return { summary, stats, ring, storage, keys, poison, dead, unhandled };
}

/** The statement always has a row. */
async function first<R>(rows: Promise<readonly R[]>): Promise<R> {
  const [row] = await rows;
  return row as R;
}
