import { defaults } from "../settings.js";
import { costs } from "./costs.js";
import { type Facts, hasSession } from "./facts.js";
import { jobDatabaseUs, jobNodeUs } from "./job-cost.js";
import { rounded } from "./rounded.js";
import type { TuningSettings } from "./tuning-settings.js";

/** Where it ends: the rate at which a resource is busy all the time. */
export interface Limit {
  readonly resource: "handlers" | "node" | "database" | "hot_key" | "connections";
  readonly jobsPerSecond: number;
  /** The share of it that the peak takes; above 1 the backlog grows. */
  readonly usedAtPeak: number;
  readonly how: string;
}

/** Every limit, the lowest first. */
export function limitsOf(facts: Facts, settings: TuningSettings): readonly Limit[] {
  const limits = [handlerLimit(facts, settings), nodeLimit(facts, settings), databaseLimit(facts, settings)];
  if (facts.workload.order === "key") limits.push(hotKeyLimit(facts));
  limits.push(connectionLimit(facts, settings));
  const peak = facts.workload.peakJobsPerSecond;
  return Object.freeze(
    limits
      .map((limit) => ({ ...limit, usedAtPeak: peak / Math.max(limit.jobsPerSecond, 1e-9) }))
      .sort((left, right) => left.jobsPerSecond - right.jobsPerSecond)
      .map((limit) => Object.freeze(limit)),
  );
}

type Rate = Omit<Limit, "usedAtPeak">;

function handlerLimit({ times }: Facts, { workers, concurrency }: TuningSettings): Rate {
  return {
    resource: "handlers",
    jobsPerSecond: (workers * concurrency * 1_000) / times.meanMs,
    how: `${workers} workers with ${concurrency} handlers of ${rounded(times.meanMs)} ms on average`,
  };
}

function nodeLimit({ workload }: Facts, { workers }: TuningSettings): Rate {
  const us = jobNodeUs(workload);
  return {
    resource: "node",
    jobsPerSecond: (workers * 1_000_000) / us,
    how: `${workers} processes with one thread each, ${rounded(us)} us a job`,
  };
}

function databaseLimit({ cluster, workload }: Facts, settings: TuningSettings): Rate {
  const us = jobDatabaseUs(workload, settings.retentionMs > 0);
  const polls = (settings.workers * 1_000) / settings.pollActiveMs;
  const looks = settings.buckets / settings.workers;
  const pollsUs = polls * (costs.statementCpuMs * 1_000 + looks * costs.bucketLookUs[workload.order]);
  const cores = cluster.databaseCores;
  return {
    resource: "database",
    jobsPerSecond: Math.max(0, cores * 1_000_000 - pollsUs) / us,
    how: `${cores} cores, ${rounded(us)} us a job, ${rounded(pollsUs / 10_000)} % of a core for polls`,
  };
}

function hotKeyLimit({ cluster, workload, times }: Facts): Rate {
  const share = workload.hottestKeyShare;
  const perSecond = 1_000 / (times.meanMs + cluster.statementP50Ms);
  return {
    resource: "hot_key",
    jobsPerSecond: perSecond / share,
    how: `the busiest key has ${rounded(share * 100)} % of the jobs and runs ${rounded(perSecond)} a second, one after the other`,
  };
}

function connectionLimit(facts: Facts, settings: TuningSettings): Rate {
  const { connectionLimit: most } = facts.cluster;
  const each = connectionsPerWorker(facts, settings);
  const workers = Math.floor(Math.max(0, most - defaults.tuneConnectionsSpare) / each);
  return {
    resource: "connections",
    jobsPerSecond: (workers * settings.concurrency * 1_000) / facts.times.meanMs,
    how: `${most} connections less ${defaults.tuneConnectionsSpare} for others are enough for ${workers} workers with ${each} each`,
  };
}

/** Connections of the server that one worker takes up. A pooler in transaction mode needs one only while a transaction is open. */
export function connectionsPerWorker({ cluster, workload }: Facts, settings: TuningSettings): number {
  if (cluster.poolMode !== "transaction") return settings.connectionsMax + 1;
  const inTransactions = workload.usesTransaction ? settings.concurrency : 0;
  return inTransactions + 1 + (hasSession(cluster) ? 1 : 0);
}
