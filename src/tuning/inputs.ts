import { InvalidOptionError } from "../errors.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { defaults, flag, oneOf, wholeNumber } from "../settings.js";
import { costs } from "./costs.js";

/** The machines, and how workers reach the server. */
export interface Cluster {
  /** Worker processes. Left out: as many as the workload needs. */
  readonly workers?: number;
  /** Cores that handlers of one process can use; 2. For CPU work inside the event loop this is 1, whatever the machine has. */
  readonly coresPerWorker?: number;
  /** Cores of the database server; 2. */
  readonly databaseCores?: number;
  /** What stands between a worker and the server: nothing, or a pooler in session or transaction mode; "direct". */
  readonly poolMode?: "direct" | "session" | "transaction";
  /** Behind a pooler in transaction mode: workers have a `directUrl`, so LISTEN and session locks work; false. */
  readonly hasDirectUrl?: boolean;
  /** `max_connections` of the server; 100. */
  readonly connectionLimit?: number;
  /** How long an enqueue of one job takes where your workers run, median and 99th percentile; 0.96 and six times the median, as measured on loopback. */
  readonly statementP50Ms?: number;
  readonly statementP99Ms?: number;
}

/** What the jobs of one queue are like. */
export interface Workload {
  /** On average. */
  readonly jobsPerSecond: number;
  /** In the busiest minutes; the average when left out. */
  readonly peakJobsPerSecond?: number;
  readonly handlerP50Ms: number;
  readonly handlerP99Ms: number;
  /** "io": handlers wait for others most of the time. "cpu": they compute; "io". */
  readonly bound?: "io" | "cpu";
  /** A typical payload as JSON; 250. */
  readonly payloadBytes?: number;
  /** Of the queue; "key". */
  readonly order?: "key" | "none";
  /** Partition keys with work at a time; 1 000. */
  readonly keys?: number;
  /** Share of all jobs on the busiest key, 0 to 1; an even share when left out. */
  readonly hottestKeyShare?: number;
  /** 99 % of jobs start within this time of their enqueue; 1 000. */
  readonly latencyTargetMs?: number;
  /** The jobs of a crashed worker run again within this time; 60 000. */
  readonly failoverTargetMs?: number;
  /** Handlers keep a connection while they run, as `job.transaction` does; true. */
  readonly usesTransaction?: boolean;
}

export type QualifiedCluster = Readonly<Required<Omit<Cluster, "workers">> & { workers: number | null }>;
export type QualifiedWorkload = Readonly<Required<Workload>>;

const clusterNames: OptionNames<Cluster> = Object.freeze({
  workers: true,
  coresPerWorker: true,
  databaseCores: true,
  poolMode: true,
  hasDirectUrl: true,
  connectionLimit: true,
  statementP50Ms: true,
  statementP99Ms: true,
});

const workloadNames: OptionNames<Workload> = Object.freeze({
  jobsPerSecond: true,
  peakJobsPerSecond: true,
  handlerP50Ms: true,
  handlerP99Ms: true,
  bound: true,
  payloadBytes: true,
  order: true,
  keys: true,
  hottestKeyShare: true,
  latencyTargetMs: true,
  failoverTargetMs: true,
  usesTransaction: true,
});

const dayMs = 86_400_000;

export function qualifiedCluster(given: Cluster): QualifiedCluster {
  const cluster = withKnownNames("the cluster", given, clusterNames);
  const { workers } = cluster;
  const statementP50Ms = amount("statementP50Ms", cluster.statementP50Ms, {
    fallback: costs.statementP50Ms,
    min: 0.01,
    max: 60_000,
  });
  const workerRange = { fallback: 1, min: 1, max: defaults.tuneWorkersMax };
  return Object.freeze({
    workers: workers === undefined ? null : wholeNumber("workers", workers, workerRange),
    coresPerWorker: wholeNumber("coresPerWorker", cluster.coresPerWorker, {
      fallback: 2,
      min: 1,
      max: 1_024,
    }),
    databaseCores: wholeNumber("databaseCores", cluster.databaseCores, { fallback: 2, min: 1, max: 1_024 }),
    poolMode: oneOf("poolMode", cluster.poolMode, ["direct", "session", "transaction"], "direct"),
    hasDirectUrl: flag("hasDirectUrl", cluster.hasDirectUrl, false),
    connectionLimit: wholeNumber("connectionLimit", cluster.connectionLimit, {
      fallback: 100,
      min: 1,
      max: 262_143,
    }),
    statementP50Ms,
    statementP99Ms: amount("statementP99Ms", cluster.statementP99Ms, {
      fallback: costs.statementSpread * statementP50Ms,
      min: statementP50Ms,
      max: 600_000,
    }),
  });
}

export function qualifiedWorkload(given: Workload): QualifiedWorkload {
  const workload = withKnownNames("the workload", given, workloadNames);
  const jobsPerSecond = amount("jobsPerSecond", workload.jobsPerSecond, { min: 0.0001, max: 1_000_000 });
  const handlerP50Ms = amount("handlerP50Ms", workload.handlerP50Ms, { min: 0.01, max: dayMs });
  const keys = wholeNumber("keys", workload.keys, { fallback: 1_000, min: 1, max: 1_000_000_000 });
  const shareRange = { fallback: 1 / keys, min: 0, max: 1 };
  return Object.freeze({
    jobsPerSecond,
    peakJobsPerSecond: amount("peakJobsPerSecond", workload.peakJobsPerSecond, {
      fallback: jobsPerSecond,
      min: jobsPerSecond,
      max: 1_000_000,
    }),
    handlerP50Ms,
    handlerP99Ms: amount("handlerP99Ms", workload.handlerP99Ms, { min: handlerP50Ms, max: dayMs }),
    bound: oneOf("bound", workload.bound, ["io", "cpu"], "io"),
    payloadBytes: wholeNumber("payloadBytes", workload.payloadBytes, {
      fallback: 250,
      min: 2,
      max: 16_777_216,
    }),
    order: oneOf("order", workload.order, ["key", "none"], "key"),
    keys,
    // No key can be the busiest with less than an even share.
    hottestKeyShare: Math.max(1 / keys, amount("hottestKeyShare", workload.hottestKeyShare, shareRange)),
    latencyTargetMs: amount("latencyTargetMs", workload.latencyTargetMs, {
      fallback: 1_000,
      min: 1,
      max: dayMs,
    }),
    failoverTargetMs: amount("failoverTargetMs", workload.failoverTargetMs, {
      fallback: 60_000,
      min: 1,
      max: dayMs,
    }),
    usesTransaction: flag("usesTransaction", workload.usesTransaction, true),
  });
}

function amount(
  option: string,
  value: number | undefined,
  range: { readonly fallback?: number; readonly min: number; readonly max: number },
): number {
  if (value === undefined && range.fallback !== undefined) return range.fallback;
  if (typeof value !== "number" || !(value >= range.min && value <= range.max)) {
    throw new InvalidOptionError(option, value, `a number from ${range.min} to ${range.max}`);
  }
  return value;
}
