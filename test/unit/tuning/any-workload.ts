import fc from "fast-check";
import type { Cluster, Workload } from "../../../src/tuning.js";

/** From one job an hour to a million a second, handlers of 10 us to a day. */
const spread = (min: number, max: number): fc.Arbitrary<number> =>
  fc
    .double({ min: Math.log(min), max: Math.log(max), noNaN: true })
    .map((log) => Math.min(max, Math.max(min, Math.exp(log))));

export const anyCluster: fc.Arbitrary<Cluster> = fc.record(
  {
    workers: fc.integer({ min: 1, max: 1_024 }),
    coresPerWorker: fc.integer({ min: 1, max: 64 }),
    databaseCores: fc.integer({ min: 1, max: 128 }),
    poolMode: fc.constantFrom("direct", "session", "transaction"),
    hasDirectUrl: fc.boolean(),
    connectionLimit: fc.integer({ min: 1, max: 5_000 }),
    statementP50Ms: spread(0.1, 100),
  },
  { requiredKeys: [] },
);

const handlers = fc.tuple(spread(0.01, 3_600_000), spread(1, 1_000)).map(([handlerP50Ms, times]) => ({
  handlerP50Ms,
  handlerP99Ms: Math.min(86_400_000, handlerP50Ms * times),
}));

const rates = fc.tuple(spread(0.0003, 100_000), spread(1, 10)).map(([jobsPerSecond, times]) => ({
  jobsPerSecond,
  peakJobsPerSecond: jobsPerSecond * times,
}));

const rest = fc.record(
  {
    bound: fc.constantFrom("io", "cpu"),
    payloadBytes: fc.integer({ min: 2, max: 16_777_216 }),
    order: fc.constantFrom("key", "none"),
    keys: fc.integer({ min: 1, max: 1_000_000 }),
    hottestKeyShare: fc.double({ min: 0, max: 1, noNaN: true }),
    latencyTargetMs: spread(1, 3_600_000),
    failoverTargetMs: spread(1, 3_600_000),
    usesTransaction: fc.boolean(),
  },
  { requiredKeys: [] },
);

export const anyWorkload: fc.Arbitrary<Workload> = fc
  .tuple(handlers, rates, rest)
  .map(([one, two, three]) => ({ ...one, ...two, ...three }) as Workload);
