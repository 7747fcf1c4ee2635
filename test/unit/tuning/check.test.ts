import { describe, expect, test } from "vitest";
import {
  type Cluster,
  check,
  type TuningSettings,
  type WarningCode,
  type Workload,
} from "../../../src/tuning.js";

const calm: Workload = { jobsPerSecond: 10, handlerP50Ms: 50, handlerP99Ms: 300 };

interface Contradiction {
  readonly cluster?: Cluster;
  readonly workload?: Partial<Workload>;
  readonly settings?: Partial<TuningSettings>;
}

const codesOf = ({ cluster = {}, workload = {}, settings = {} }: Contradiction): readonly WarningCode[] =>
  check(cluster, { ...calm, ...workload }, settings).map(({ code }) => code);

/** For each code what brings it about, and the nearest that does not. */
const cases: Readonly<Record<WarningCode, readonly [bad: Contradiction, good: Contradiction]>> = {
  ttl_below_heartbeats: [
    { settings: { heartbeatMs: 10_000, ttlMs: 29_999 } },
    { settings: { heartbeatMs: 10_000, ttlMs: 30_000 } },
  ],
  lease_below_handler: [
    { settings: { leaseMs: 899, renewalMs: null } },
    { settings: { leaseMs: 900, renewalMs: null } },
  ],
  renewal_late: [
    { settings: { leaseMs: 1_000, renewalMs: 501 } },
    { settings: { leaseMs: 1_000, renewalMs: 500 } },
  ],
  timeout_below_handler: [{ settings: { handlerTimeoutMs: 300 } }, { settings: { handlerTimeoutMs: 301 } }],
  buckets_few: [
    { cluster: { workers: 40 }, settings: { buckets: 399 } },
    { cluster: { workers: 40 }, settings: { buckets: 400 } },
  ],
  pool_small: [
    { settings: { concurrency: 8, connectionsMax: 9 } },
    { settings: { concurrency: 8, connectionsMax: 10 } },
  ],
  claim_batch_slow: [
    { workload: { handlerP99Ms: 50 }, settings: { concurrency: 1, claimBatch: 101 } },
    { workload: { handlerP99Ms: 50 }, settings: { concurrency: 1, claimBatch: 100 } },
  ],
  concurrency_above_cores: [
    { workload: { bound: "cpu" }, settings: { concurrency: 3 } },
    { workload: { bound: "cpu" }, settings: { concurrency: 2 } },
  ],
  ring_cache_above_ttl: [
    { settings: { ringCacheMs: 30_001, ttlMs: 30_000 } },
    { settings: { ringCacheMs: 30_000, ttlMs: 30_000 } },
  ],
  poll_above_latency: [
    { cluster: { poolMode: "transaction" }, settings: { pollIdleMs: 1_000 } },
    { cluster: { poolMode: "transaction" }, settings: { pollIdleMs: 999 } },
  ],
  payload_above_limit: [
    { workload: { payloadBytes: 1_025 }, settings: { payloadLimitBytes: 1_024 } },
    { workload: { payloadBytes: 1_024 }, settings: { payloadLimitBytes: 1_024 } },
  ],
  archive_large: [
    { workload: { jobsPerSecond: 400 }, settings: { retentionMs: 259_200_000 } },
    { workload: { jobsPerSecond: 385 }, settings: { retentionMs: 259_200_000 } },
  ],
  payload_large: [{ workload: { payloadBytes: 2_049 } }, { workload: { payloadBytes: 2_048 } }],
  workers_few: [
    { cluster: { workers: 1 }, workload: { jobsPerSecond: 20 }, settings: { concurrency: 1 } },
    { cluster: { workers: 1 }, workload: { jobsPerSecond: 20 }, settings: { concurrency: 4 } },
  ],
  hot_key: [
    { workload: { jobsPerSecond: 12, hottestKeyShare: 1 } },
    { workload: { jobsPerSecond: 12, hottestKeyShare: 0.5 } },
  ],
  key_latency: [
    { workload: { handlerP99Ms: 3_000, hottestKeyShare: 0.3 } },
    { workload: { handlerP99Ms: 3_000, order: "none" } },
  ],
  database_busy: [
    { workload: { jobsPerSecond: 20_000, handlerP50Ms: 1, handlerP99Ms: 2, order: "none" } },
    {
      cluster: { databaseCores: 4 },
      workload: { jobsPerSecond: 20_000, handlerP50Ms: 1, handlerP99Ms: 2, order: "none" },
    },
  ],
  connections_few: [
    { cluster: { workers: 5, connectionLimit: 44 } },
    { cluster: { workers: 5, connectionLimit: 45 } },
  ],
  latency_target: [{ workload: { latencyTargetMs: 30 } }, { workload: { latencyTargetMs: 31 } }],
  failover_target: [{ workload: { failoverTargetMs: 2_999 } }, { workload: { failoverTargetMs: 3_000 } }],
};

describe("a contradiction is named by its code", () => {
  test.each(Object.entries(cases) as [WarningCode, readonly [Contradiction, Contradiction]][])(
    "%s",
    (code, [bad, good]) => {
      expect(codesOf(bad)).toContain(code);
      expect(codesOf(good)).not.toContain(code);
    },
  );
});

test("a warning names the setting to change, or none when the workload has to change", () => {
  const [small] = check({}, calm, { ttlMs: 20_000, heartbeatMs: 10_000 });
  expect(small).toMatchObject({ code: "ttl_below_heartbeats", setting: "ttlMs" });
  expect(small?.message).toContain("20000 ms");
  expect(check({}, { ...calm, payloadBytes: 5_000 }, {})).toEqual([
    expect.objectContaining({ code: "payload_large", setting: null }),
  ]);
});

test("without LISTEN a busy worker's poll does not count, and with it an idle worker's does not", () => {
  const workload = { ...calm, latencyTargetMs: 500 };
  const codes = (cluster: Cluster, settings: Partial<TuningSettings>) =>
    check(cluster, workload, settings).map(({ code, setting }) => [code, setting]);
  expect(codes({}, { pollActiveMs: 500 })).toContainEqual(["poll_above_latency", "pollActiveMs"]);
  expect(codes({}, { pollIdleMs: 60_000 })).toEqual([]);
  expect(codes({ poolMode: "transaction", hasDirectUrl: true }, { pollIdleMs: 60_000 })).toEqual([]);
  expect(codes({ poolMode: "transaction" }, { pollIdleMs: 60_000 })).toContainEqual([
    "poll_above_latency",
    "pollIdleMs",
  ]);
});

test("settings that are left out are as recommended, also when they are undefined", () => {
  expect(check({}, calm, {})).toEqual([]);
  expect(check({}, calm, { ttlMs: undefined } as object)).toEqual([]);
});
