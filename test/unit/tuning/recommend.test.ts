import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memberSettings } from "../../../src/membership/member-settings.js";
import { type Cluster, check, type Recommendation, recommend, type Workload } from "../../../src/tuning.js";
import { qualified } from "../../../src/work/queue-settings.js";
import { workerSettings } from "../../../src/work/worker-settings.js";
import { anyCluster, anyWorkload } from "./any-workload.js";

const surroundings = {
  workerId: "w",
  heartbeatMs: undefined,
  ttlMs: undefined,
  hostname: "h",
  pid: 1,
};
const small: Workload = { jobsPerSecond: 10, handlerP50Ms: 50, handlerP99Ms: 300 };

/** By the functions that check the options of users. */
function validate({ options, settings }: Recommendation): void {
  const { connectionsMax: _, ...member } = options.connect;
  memberSettings(member, surroundings);
  qualified("inbox", "leasehold", options.queue);
  workerSettings(options.worker);
  for (const value of Object.values(settings)) expect(Number.isSafeInteger(value)).toBe(true);
  expect(options.connect.connectionsMax).toBeGreaterThanOrEqual(2);
  expect(options.connect.connectionsMax).toBeLessThanOrEqual(1_000);
}

describe("every recommendation", () => {
  test("passes the validation of the options, and warns of none of its own values", () => {
    fc.assert(
      fc.property(anyCluster, anyWorkload, (cluster, workload) => {
        const recommendation = recommend(cluster, workload);
        validate(recommendation);
        expect(recommendation.warnings.filter(({ setting }) => setting !== null)).toEqual([]);
        expect(check(cluster, workload, recommendation.settings)).toEqual(recommendation.warnings);
      }),
      { numRuns: 300 },
    );
  });

  test("is plain data that can't be changed", () => {
    fc.assert(
      fc.property(anyCluster, anyWorkload, (cluster, workload) => {
        const recommendation = recommend(cluster, workload);
        expect(JSON.parse(JSON.stringify(recommendation))).toEqual(recommendation);
        for (const part of Object.values(recommendation)) expect(Object.isFrozen(part)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});

test("more load never needs fewer workers", () => {
  fc.assert(
    fc.property(
      anyCluster,
      anyWorkload,
      fc.double({ min: 1, max: 10, noNaN: true }),
      (cluster, workload, times) => {
        const { workers: _, ...open }: Cluster = cluster;
        const { peakJobsPerSecond = workload.jobsPerSecond } = workload;
        const more = { ...workload, peakJobsPerSecond: Math.min(1_000_000, peakJobsPerSecond * times) };
        const needed = recommend(open, workload).workersNeeded;
        expect(recommend(open, more).workersNeeded).toBeGreaterThanOrEqual(needed);
      },
    ),
    { numRuns: 200 },
  );
});

test("a load that rises in small steps needs a number of workers that rises", () => {
  for (const order of ["key", "none"] as const) {
    let last = 0;
    for (let jobsPerSecond = 1; jobsPerSecond < 20_000; jobsPerSecond *= 1.1) {
      const { workersNeeded } = recommend({}, { ...small, order, jobsPerSecond, keys: 100_000 });
      expect(workersNeeded).toBeGreaterThanOrEqual(last);
      last = workersNeeded;
    }
    expect(last).toBeGreaterThan(100);
  }
});

test("a tighter latency target never needs fewer workers", () => {
  fc.assert(
    fc.property(anyWorkload, fc.double({ min: 1, max: 10, noNaN: true }), (workload, times) => {
      const { latencyTargetMs = 1_000 } = workload;
      const lax = { ...workload, latencyTargetMs: Math.min(86_400_000, latencyTargetMs * times) };
      // Below what polls allow, the target has no say.
      fc.pre(!recommend({}, workload).warnings.some(({ code }) => code === "latency_target"));
      expect(recommend({}, lax).workersNeeded).toBeLessThanOrEqual(recommend({}, workload).workersNeeded);
    }),
    { numRuns: 100 },
  );
});

test("the table has every setting of the articles, each with a rule and what to watch", () => {
  const { rows, settings } = recommend({}, small);
  expect(rows.map(({ title }) => title)).toEqual([
    "Heartbeat interval",
    "Worker dead TTL",
    "Lease duration",
    "Lease renewal",
    "Handler timeout",
    "Claim batch",
    "Idle poll",
    "Active poll",
    "Ring cache",
    "Housekeeping",
    "Partition buckets",
    "Virtual nodes",
    "Handler concurrency",
    "Payload size",
    "Completed retention",
    "Connection pool",
  ]);
  for (const row of rows) {
    expect(row.value).toBe(settings[row.setting]);
    expect(row.rule).not.toBe("");
    expect(row.watch).not.toBe("");
    expect(row.option === null).toBe(row.of === null);
  }
});

test("a small workload gets the defaults of the library", () => {
  expect(recommend({}, small).settings).toEqual({
    workers: 1,
    heartbeatMs: 10_000,
    ttlMs: 30_000,
    leaseMs: 90_000,
    renewalMs: 30_000,
    handlerTimeoutMs: 900_000,
    claimBatch: 100,
    pollIdleMs: 2_000,
    pollActiveMs: 60,
    ringCacheMs: 8_000,
    housekeepingMs: 30_000,
    buckets: 360,
    vnodes: 128,
    concurrency: 4,
    payloadLimitBytes: 65_536,
    retentionMs: 604_800_000,
    connectionsMax: 6,
  });
});

describe("the limit", () => {
  const limitOf = (cluster: Cluster, workload: Partial<Workload>): string =>
    recommend(cluster, { ...small, ...workload }).limit.resource;

  test("is the handlers while they wait for others", () => {
    expect(limitOf({ workers: 1 }, {})).toBe("handlers");
  });

  test("is the hottest key where it has most of the jobs", () => {
    expect(limitOf({}, { hottestKeyShare: 0.9 })).toBe("hot_key");
  });

  test("is the database for handlers that do next to nothing", () => {
    expect(limitOf({ workers: 20 }, { handlerP50Ms: 0.1, handlerP99Ms: 0.2, order: "none" })).toBe(
      "database",
    );
  });

  test("is the connections where the server has few", () => {
    expect(limitOf({ workers: 4, connectionLimit: 25 }, { order: "none" })).toBe("connections");
  });

  test("says at which rate and how much of it the peak takes", () => {
    const { limit } = recommend({ workers: 1 }, { ...small, handlerP99Ms: 50, order: "none" });
    expect(limit).toMatchObject({ resource: "handlers", jobsPerSecond: 80, usedAtPeak: 0.125 });
  });
});

test("the failover that can be promised follows the way to the server", () => {
  expect(recommend({}, small).failover).toEqual({ crashMs: 3_000, lostMachineMs: 32_000 });
  const pooled = recommend({ poolMode: "transaction" }, { ...small, failoverTargetMs: 10_000 });
  expect(pooled.failover.crashMs).toBeLessThanOrEqual(10_000);
  expect(pooled.meets.failover).toBe(true);
});

describe("input that makes no sense is refused by name", () => {
  const refused = (option: string) => expect.objectContaining({ code: "LH_INVALID_OPTION", option });

  test.each([
    ["jobsPerSecond", { jobsPerSecond: 0 }],
    ["jobsPerSecond", { jobsPerSecond: Number.NaN }],
    ["peakJobsPerSecond", { peakJobsPerSecond: 9 }],
    ["handlerP99Ms", { handlerP99Ms: 49 }],
    ["bound", { bound: "gpu" }],
    ["hottestKeyShare", { hottestKeyShare: 2 }],
    ["keys", { keys: 0 }],
    ["latencyTarget", { latencyTarget: 5 }],
  ])("workload: %s", (option, part) => {
    expect(() => recommend({}, { ...small, ...part } as Workload)).toThrow(refused(option));
  });

  test.each([
    ["workers", { workers: 0 }],
    ["poolMode", { poolMode: "pgpool" }],
    ["cores", { cores: 2 }],
    ["statementP99Ms", { statementP50Ms: 2, statementP99Ms: 1 }],
  ])("cluster: %s", (option, cluster) => {
    expect(() => recommend(cluster as Cluster, small)).toThrow(refused(option));
  });

  test("settings", () => {
    expect(() => check({}, small, { ttlMs: 1.5 })).toThrow(refused("ttlMs"));
    expect(() => check({}, small, { ttl: 5 } as object)).toThrow(refused("ttl"));
  });
});
