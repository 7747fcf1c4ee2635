import { defaults } from "../settings.js";
import { bucketsFor, keepsUp } from "./capacity.js";
import { costs } from "./costs.js";
import { type Facts, hasSession } from "./facts.js";
import type { QualifiedCluster } from "./inputs.js";
import { inRange, type TuningSettings } from "./tuning-settings.js";

const dayMs = 86_400_000;
/** A garbage collection, a slow disk or a busy machine may cost a heartbeat; below this, healthy workers are declared dead. */
const ttlLeastMs = 6_000;
/** Heartbeats are multiples of it, for people who read them. */
const beatStepMs = 500;
/** What is needed beside the TTL: the members are read, and the new owner claims. */
const takeoverMs = 2_000;
const ioSlotsMin = 4;
const ioSlotsMax = 16;
const batchMax = 100;
const batchMs = 2_000;

/** A value for every setting, for this cluster and this workload. */
export function chooseSettings(facts: Facts): TuningSettings {
  const { workers, concurrency } = chooseFleet(facts);
  const { heartbeatMs, ttlMs } = chooseLife(facts);
  const { workload, cluster, times } = facts;
  const leaseMs = inRange(
    "leaseMs",
    Math.max(defaults.leaseMs, Math.min(900_000, 3 * workload.handlerP99Ms)),
  );
  return Object.freeze({
    workers,
    heartbeatMs,
    ttlMs,
    leaseMs,
    renewalMs: Math.round(leaseMs / 3),
    handlerTimeoutMs: inRange(
      "handlerTimeoutMs",
      Math.max(defaults.handlerTimeoutMs, 3 * workload.handlerP99Ms),
    ),
    claimBatch: chooseBatch(concurrency, times.meanMs),
    ...choosePolls(facts),
    ringCacheMs: inRange("ringCacheMs", Math.min(hasSession(cluster) ? defaults.ringCacheMs : 5_000, ttlMs)),
    housekeepingMs: defaults.housekeepingMs,
    buckets: bucketsFor(workers),
    vnodes: defaults.vnodes,
    concurrency,
    payloadLimitBytes: choosePayloadLimit(workload.payloadBytes),
    retentionMs: chooseRetention(workload.jobsPerSecond),
    connectionsMax: inRange(
      "connectionsMax",
      workload.usesTransaction ? concurrency + defaults.connectionsReserved : 5,
    ),
  });
}

/** What the handlers finish in 2 s, up to 100; fast ones need more, for they finish that within a quarter of a second. */
function chooseBatch(concurrency: number, meanMs: number): number {
  const inTime = Math.min(batchMax, (concurrency * batchMs) / meanMs);
  const ahead = Math.min(defaults.claimRowsMax, (concurrency * defaults.claimAheadMs) / meanMs);
  return inRange("claimBatch", Math.max(concurrency, inTime, ahead));
}

/** How long a job may wait for a slot, when a poll or a wake has taken its part of the latency target; 0 or less when nothing is left. */
export function slotWaitMs(facts: Facts): number {
  return facts.workload.latencyTargetMs - foundWithinMs(facts, choosePolls(facts));
}

/** 99 % of jobs are found by a worker with room within this time of their enqueue. */
export function foundWithinMs(
  { cluster }: Facts,
  polls: { readonly pollIdleMs: number; readonly pollActiveMs: number },
): number {
  // A worker that is notified more often than 200 times a second polls instead.
  return (hasSession(cluster) ? polls.pollActiveMs : polls.pollIdleMs) + wakeMs(cluster);
}

/** From the enqueue to the start on an idle worker: the enqueue, the notification and the claim. */
function wakeMs({ statementP99Ms }: QualifiedCluster): number {
  return Math.max(costs.wakeP99Ms, 3 * statementP99Ms);
}

/** With the workers that are given as many slots as it takes, otherwise workers with the usual number of slots. */
export function chooseFleet(facts: Facts): { readonly workers: number; readonly concurrency: number } {
  const { workers } = facts.cluster;
  if (workers === null) {
    const concurrency = usualSlots(facts);
    return { workers: neededWorkers(facts, concurrency), concurrency };
  }
  if (facts.workload.bound === "cpu") return { workers, concurrency: usualSlots(facts) };
  const waitMs = positiveWaitMs(facts);
  let concurrency = usualSlots(facts);
  while (concurrency < defaults.tuneSlotsMax && !keepsUp(facts, { workers, concurrency }, waitMs))
    concurrency++;
  return { workers, concurrency };
}

/** The smallest number that keeps up; the most there can be when none does. */
export function neededWorkers(facts: Facts, concurrency: number): number {
  const waitMs = positiveWaitMs(facts);
  for (let workers = 1; workers < defaults.tuneWorkersMax; workers++)
    if (keepsUp(facts, { workers, concurrency }, waitMs)) return workers;
  return defaults.tuneWorkersMax;
}

/** A target that polls alone exceed can't be met by more slots, so they are chosen as if it could. */
function positiveWaitMs(facts: Facts): number {
  const waitMs = slotWaitMs(facts);
  return waitMs > 0 ? waitMs : facts.workload.latencyTargetMs;
}

function usualSlots({ cluster, workload }: Facts): number {
  const cores = cluster.coresPerWorker;
  return workload.bound === "cpu" ? cores : Math.min(ioSlotsMax, Math.max(ioSlotsMin, 2 * cores));
}

/** The TTL counts for machines that are lost with their connections open, and for all crashes where there are no sessions. */
function chooseLife({ workload }: Facts): { readonly heartbeatMs: number; readonly ttlMs: number } {
  const wantedMs = Math.min(defaults.ttlMs, Math.max(ttlLeastMs, workload.failoverTargetMs - takeoverMs));
  // Handlers that compute may keep heartbeats waiting for as long as they run.
  const blockedMs = workload.bound === "cpu" ? Math.min(defaults.ttlMs, 3 * workload.handlerP99Ms) : 0;
  const beats = Math.max(wantedMs, blockedMs) / (defaults.ttlHeartbeatsMin * beatStepMs);
  const heartbeatMs = Math.floor(beats) * beatStepMs;
  return { heartbeatMs, ttlMs: heartbeatMs * defaults.ttlHeartbeatsMin };
}

/** How soon the jobs of a worker that is gone run again: after a crash, and when its machine is lost with its connections open. */
export function failoverOf(
  { cluster }: Facts,
  settings: TuningSettings,
): { readonly crashMs: number; readonly lostMachineMs: number } {
  const byTtlMs = settings.ttlMs + takeoverMs;
  return Object.freeze({
    crashMs: hasSession(cluster) ? costs.sessionFailoverMs : byTtlMs,
    lostMachineMs: byTtlMs,
  });
}

function choosePolls({ cluster, workload }: Facts): {
  readonly pollIdleMs: number;
  readonly pollActiveMs: number;
} {
  const target = workload.latencyTargetMs;
  const leftMs = target - wakeMs(cluster);
  return {
    pollIdleMs: hasSession(cluster)
      ? defaults.pollIdleMs
      : inRange("pollIdleMs", Math.min(defaults.pollIdleMs, leftMs * 0.6)),
    pollActiveMs: inRange("pollActiveMs", Math.min(defaults.pollActiveMs, leftMs / 3)),
  };
}

/** The default, or the next power of two that has room for what is known to come. */
function choosePayloadLimit(bytes: number): number {
  let limit: number = defaults.payloadLimitBytes;
  while (limit < 2 * bytes && limit < 16_777_216) limit *= 2;
  return limit;
}

/** A week, or as many whole days as stay below the limit of rows. */
function chooseRetention(jobsPerSecond: number): number {
  const days = Math.floor(defaults.tuneArchiveRowsMax / (jobsPerSecond * 86_400));
  return dayMs * Math.max(1, Math.min(7, days));
}
