import type { Cluster, Workload } from "../src/tuning.js";
import { usageError } from "./failure.js";
import { withDefined } from "./with-defined.js";

export type TuneOptions = {
  rate: number;
  p50: number;
  p99: number;
  peak?: number;
  bound?: "io" | "cpu";
  order?: "key" | "none";
  keys?: number;
  hotKey?: number;
  payloadBytes?: number;
  latency?: number;
  failover?: number;
  transaction?: boolean;
  workers?: number;
  cores?: number;
  databaseCores?: number;
  poolMode?: "direct" | "session" | "transaction";
  connections?: number;
  explain?: true;
  simulate?: number | true;
  seed?: number;
};

export function clusterOf(options: TuneOptions): Cluster {
  return withDefined({
    workers: options.workers,
    coresPerWorker: options.cores,
    databaseCores: options.databaseCores,
    poolMode: options.poolMode,
    connectionLimit: options.connections,
  });
}

export function workloadOf(options: TuneOptions): Workload {
  return {
    jobsPerSecond: options.rate,
    handlerP50Ms: options.p50,
    handlerP99Ms: options.p99,
    ...withDefined({
      peakJobsPerSecond: options.peak,
      bound: options.bound,
      order: options.order,
      keys: options.keys,
      hottestKeyShare: options.hotKey,
      payloadBytes: options.payloadBytes,
      latencyTargetMs: options.latency,
      failoverTargetMs: options.failover,
      usesTransaction: options.transaction,
    }),
  };
}

export function decimal(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) throw usageError(`"${text}" is no number.`);
  return value;
}
