/**
 * What a job costs, as measured. The machine: 2 cores of an AMD EPYC in a virtual machine, PostgreSQL 18.4 with fsync on, Node 20.20, loopback, payloads of 250
 * bytes. Every recommendation and prediction takes its figures from here; measure on yours before you rely on them.
 *
 * `npm run bench -- --only B5,B9,B10,B12` repeats those of 2026-11-16 (docs/performance.md), `npm run bench:tuning -- --costs` those of 2026-11-18.
 */
export const costs = {
  /** Microseconds of database CPU a job, in the batches that a busy worker makes (B12, 2026-11-16). `work` is claim, settle, and what the server does beside them. */
  enqueueUs: { none: 23, key: 30 },
  workUs: { none: 33, key: 46 },
  archiveUs: 16.5,
  /** The part of `workUs` that is the claim (performance.md: 11 us for a claimed row, 5 for its completion). */
  claimShare: 0.67,
  /** Microseconds of a worker's Node process a job, without its handler (B12, 2026-11-16). */
  nodeUs: { none: 27, key: 34 },
  /** What the other costs were measured with, and each KB more, microseconds (2026-11-18: 16 to 19 and 5 to 6). */
  payloadBytes: 250,
  payloadDatabaseUs: 18,
  payloadNodeUs: 6,
  /** A look into a bucket that has nothing to take, microseconds of database CPU (from B10, 2026-11-16: a claim of 25 rows that looks into 360 buckets). */
  bucketLookUs: { none: 5, key: 18 },
  /** One statement for one job: CPU of the server (2026-11-18: 310 to 353 us). */
  statementCpuMs: 0.35,
  /** How long it takes in all (B9, 2026-11-16: 1 043 jobs/s on one key, where each waits for the settle of the one before), and the 99th percentile as a multiple (B5). */
  statementP50Ms: 0.96,
  statementSpread: 6,
  /** From an enqueue to the start of the handler on an idle worker that is notified, 99th percentile (B5, 2026-11-16: 16 to 18 ms); at least three statements follow each other. */
  wakeP99Ms: 20,
  /** A crashed process is noticed by the end of its session (promise P7, docs/proof.md). */
  sessionFailoverMs: 3_000,
  /** Work beyond this share of a resource makes queues that grow with every burst. A rule of thumb, not a measurement. */
  busyMax: 0.7,
} as const;
Object.freeze(costs);
