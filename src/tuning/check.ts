import { defaults } from "../settings.js";
import { hotRate, keepsUp, lateInLines } from "./capacity.js";
import { failoverOf, foundWithinMs } from "./choose.js";
import { costs } from "./costs.js";
import { type Facts, hasSession } from "./facts.js";
import { connectionsPerWorker, limitsOf } from "./limits.js";
import { rounded } from "./rounded.js";
import { ranges, type Setting, type TuningSettings } from "./tuning-settings.js";
import { lineBusy } from "./waiting.js";

export type WarningCode =
  | "ttl_below_heartbeats"
  | "lease_below_handler"
  | "renewal_late"
  | "timeout_below_handler"
  | "buckets_few"
  | "pool_small"
  | "claim_batch_slow"
  | "concurrency_above_cores"
  | "ring_cache_above_ttl"
  | "poll_above_latency"
  | "payload_above_limit"
  | "archive_large"
  | "payload_large"
  | "workers_few"
  | "hot_key"
  | "key_latency"
  | "database_busy"
  | "connections_few"
  | "latency_target"
  | "failover_target";

/** Two things that do not go together. */
export interface Warning {
  readonly code: WarningCode;
  /** The setting to change; null when the workload, the cluster or a target has to change. */
  readonly setting: Setting | null;
  readonly message: string;
}

type Rule = (facts: Facts, settings: TuningSettings) => readonly [Setting | null, string] | null;

const ms = (value: number): string => `${Math.round(value)} ms`;

/** What is wrong with settings, whatever the workload. */
const settingRules: Readonly<Partial<Record<WarningCode, Rule>>> = {
  ttl_below_heartbeats: (_, { ttlMs, heartbeatMs }) =>
    ttlMs >= defaults.ttlHeartbeatsMin * heartbeatMs
      ? null
      : [
          "ttlMs",
          `ttlMs is ${ms(ttlMs)}, below three heartbeats of ${ms(heartbeatMs)}: healthy workers are declared dead.`,
        ],
  lease_below_handler: ({ workload }, { leaseMs, renewalMs }) =>
    renewalMs !== null || leaseMs >= 3 * workload.handlerP99Ms
      ? null
      : [
          "leaseMs",
          `leaseMs is ${ms(leaseMs)} and nobody renews it: jobs run twice. Renew at a third of it, or make it ${ms(3 * workload.handlerP99Ms)}, three times the handler's p99.`,
        ],
  renewal_late: (_, { leaseMs, renewalMs }) =>
    renewalMs === null || renewalMs * 2 <= leaseMs
      ? null
      : [
          "renewalMs",
          `A renewal every ${ms(renewalMs)} leaves no second try within the lease of ${ms(leaseMs)}. Renew at a third of it.`,
        ],
  timeout_below_handler: ({ workload }, { handlerTimeoutMs }) =>
    handlerTimeoutMs > workload.handlerP99Ms
      ? null
      : [
          "handlerTimeoutMs",
          `handlerTimeoutMs is ${ms(handlerTimeoutMs)}; 1 % of handlers take longer than ${ms(workload.handlerP99Ms)} and would be aborted.`,
        ],
  buckets_few: (_, { buckets, workers }) =>
    buckets >= 10 * workers
      ? null
      : [
          buckets < defaults.bucketsMax ? "buckets" : null,
          `${buckets} buckets for ${workers} workers: below ten each, some workers get much more work than others.`,
        ],
  pool_small: ({ workload }, { connectionsMax, concurrency }) => {
    const least = workload.usesTransaction ? concurrency + defaults.connectionsReserved : 3;
    return connectionsMax >= Math.min(least, 1_000)
      ? null
      : [
          "connectionsMax",
          `connectionsMax is ${connectionsMax}; ${concurrency} handlers need ${least}, with two for claims, renewals and outcomes. Handlers wait for connections.`,
        ];
  },
  claim_batch_slow: ({ times }, { claimBatch, concurrency }) => {
    const drainMs = (claimBatch * times.meanMs) / concurrency;
    return claimBatch <= concurrency || drainMs <= 5_000
      ? null
      : [
          "claimBatch",
          `A batch of ${claimBatch} takes ${ms(drainMs)} with ${concurrency} handlers: jobs wait in one worker while another has room. Keep it below 5 s.`,
        ];
  },
  concurrency_above_cores: ({ cluster, workload }, { concurrency }) =>
    workload.bound === "io" || concurrency <= cluster.coresPerWorker
      ? null
      : [
          "concurrency",
          `${concurrency} handlers that compute share ${cluster.coresPerWorker} cores: each takes longer, and heartbeats wait. Use one for each core.`,
        ],
  ring_cache_above_ttl: (_, { ringCacheMs, ttlMs }) =>
    ringCacheMs <= ttlMs
      ? null
      : [
          "ringCacheMs",
          `ringCacheMs is ${ms(ringCacheMs)}, above the TTL of ${ms(ttlMs)}: a worker that joins gets its buckets late.`,
        ],
};

/** What is wrong with settings for this workload, and with the workload itself. */
const workloadRules: Readonly<Partial<Record<WarningCode, Rule>>> = {
  poll_above_latency: (facts, settings) => {
    const isTold = hasSession(facts.cluster);
    const setting = isTold ? "pollActiveMs" : "pollIdleMs";
    const [least] = ranges[setting];
    if (settings[setting] < facts.workload.latencyTargetMs || settings[setting] <= least) return null;
    const why = isTold
      ? "A busy worker polls"
      : "LISTEN does not work through this pooler, so an idle worker polls";
    return [
      setting,
      `${why} every ${ms(settings[setting])}, which alone exceeds the latency target of ${ms(facts.workload.latencyTargetMs)}.`,
    ];
  },
  payload_above_limit: ({ workload }, { payloadLimitBytes }) =>
    workload.payloadBytes <= payloadLimitBytes
      ? null
      : [
          "payloadLimitBytes",
          `Payloads of ${workload.payloadBytes} bytes are refused: payloadLimitBytes is ${payloadLimitBytes}.`,
        ],
  archive_large: ({ workload }, { retentionMs }) => {
    const rows = (workload.jobsPerSecond * retentionMs) / 1_000;
    return rows <= defaults.tuneArchiveRowsMax || retentionMs <= 86_400_000
      ? null
      : [
          "retentionMs",
          `The archive keeps ${Math.round(rows / 1e6)} million rows. Shorten retentionMs, or export what you need to keep.`,
        ];
  },
  payload_large: ({ workload: { payloadBytes } }) =>
    payloadBytes <= defaults.payloadWarningBytes
      ? null
      : [
          null,
          `Payloads of ${payloadBytes} bytes are above ${defaults.payloadWarningBytes}: claims, WAL and vacuum slow down. Store the data elsewhere and enqueue its id.`,
        ],
  workers_few: (facts, settings) => {
    const { latencyTargetMs, peakJobsPerSecond } = facts.workload;
    const waitMs = latencyTargetMs - foundWithinMs(facts, settings);
    if (keepsUp(facts, settings, waitMs > 0 ? waitMs : latencyTargetMs)) return null;
    return [
      null,
      `${settings.workers} workers with ${settings.concurrency} handlers are not enough for ${rounded(peakJobsPerSecond)} jobs a second within ${ms(latencyTargetMs)}. Add workers.`,
    ];
  },
  hot_key: ({ cluster, workload, times }) => {
    const busy = workload.order === "key" ? lineBusy(hotRate(workload), times, cluster.statementP50Ms) : 0;
    return busy <= costs.busyMax
      ? null
      : [
          null,
          `The busiest key gets ${rounded(hotRate(workload))} jobs a second and is busy ${rounded(busy * 100)} % of the time: its jobs run one after the other. Split it with shardKey(), or make its handler faster.`,
        ];
  },
  key_latency: (facts, settings) => {
    const { latencyTargetMs } = facts.workload;
    const late = lateInLines(facts, Math.max(1, latencyTargetMs - foundWithinMs(facts, settings)));
    return late <= 0.005
      ? null
      : [
          null,
          `About ${rounded(late * 100)} % of jobs wait longer than ${ms(latencyTargetMs)} behind others of their key. More workers do not help; more keys or shorter handlers do.`,
        ];
  },
  database_busy: (facts, settings) => {
    const limit = limitsOf(facts, settings).find(({ resource }) => resource === "database");
    return limit === undefined || limit.usedAtPeak <= costs.busyMax
      ? null
      : [
          null,
          `The peak takes ${rounded(limit.usedAtPeak * 100)} % of the database's processors (${limit.how}). Give it more cores, or split the queue over servers.`,
        ];
  },
  connections_few: (facts, settings) => {
    const { connectionLimit } = facts.cluster;
    const needed = settings.workers * connectionsPerWorker(facts, settings) + defaults.tuneConnectionsSpare;
    return needed <= connectionLimit
      ? null
      : [
          null,
          `${settings.workers} workers need ${needed} connections with ${defaults.tuneConnectionsSpare} for others; the server has ${connectionLimit}. Raise max_connections, use fewer and larger workers, or a pooler in transaction mode with a directUrl.`,
        ];
  },
  latency_target: (facts, settings) => {
    const least = foundWithinMs(facts, settings);
    return least < facts.workload.latencyTargetMs
      ? null
      : [
          null,
          `99 % of jobs are found within ${ms(least)}, so ${ms(facts.workload.latencyTargetMs)} can't be promised.${hasSession(facts.cluster) ? "" : " Give workers a directUrl, so that they are notified."}`,
        ];
  },
  failover_target: (facts, settings) => {
    const { crashMs } = failoverOf(facts, settings);
    return crashMs <= facts.workload.failoverTargetMs
      ? null
      : [
          null,
          `The jobs of a crashed worker run again within ${ms(crashMs)}, so ${ms(facts.workload.failoverTargetMs)} can't be promised.${hasSession(facts.cluster) ? "" : " Give workers a directUrl, so that a crash is noticed by its session."}`,
        ];
  },
};

/** Every contradiction between these settings, the cluster and the workload. */
export function warningsOf(facts: Facts, settings: TuningSettings): readonly Warning[] {
  const rules = Object.entries({ ...settingRules, ...workloadRules }) as [WarningCode, Rule][];
  return Object.freeze(
    rules.flatMap(([code, rule]) => {
      const found = rule(facts, settings);
      return found === null ? [] : [Object.freeze({ code, setting: found[0], message: found[1] })];
    }),
  );
}
