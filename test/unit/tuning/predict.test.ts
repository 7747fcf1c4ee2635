import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { handlerTimes } from "../../../src/tuning/handler-times.js";
import { Dice } from "../../../src/tuning/model/dice.js";
import { Timeline } from "../../../src/tuning/model/timeline.js";
import { chart, predict, recommend, type Workload } from "../../../src/tuning.js";
import { type NamedWorkload, namedWorkloads } from "./workloads.js";

const small: Workload = { jobsPerSecond: 20, handlerP50Ms: 20, handlerP99Ms: 100, keys: 200 };

describe("twelve workloads with the recommended settings", () => {
  const each = namedWorkloads.map((one) => [one.name, one] as const);

  test.each(each)("%s: the predicted lag is within the target where it says so", (_, one) => {
    const { settings, meets } = recommend(one.cluster, one.workload);
    const { lag, jobs } = predict(one.cluster, one.workload, settings, { seed: 7, seconds: one.seconds });
    expect(jobs).toBeGreaterThan(20);
    if (meets.latency) expect(lag.p99Ms).toBeLessThanOrEqual(one.workload.latencyTargetMs ?? 1_000);
    else expect(lag.p99Ms).toBeGreaterThan(one.workload.latencyTargetMs ?? 1_000);
  });

  test("ten of them can be kept, and the two that can't have a reason", () => {
    const broken = namedWorkloads.flatMap(({ name, cluster, workload }) => {
      const { meets, warnings } = recommend(cluster, workload);
      return meets.latency ? [] : [[name, warnings[0]?.code]];
    });
    expect(broken).toEqual([
      ["hot key", "hot_key"],
      ["more than the database can do", "database_busy"],
    ]);
  });

  test("docs/tuning.md has the same workloads, workers and limits", async () => {
    const page = await readFile(new URL("../../../docs/tuning.md", import.meta.url), "utf8");
    for (const one of namedWorkloads) expect(page).toContain(lineOf(one));
  });
});

const spread = (min: number, max: number): fc.Arbitrary<number> =>
  fc.double({ min: Math.log(min), max: Math.log(max), noNaN: true }).map(Math.exp);

/** Up to 2 000 jobs/s at the peak, handlers of 2 ms to a minute. */
const moderate = fc
  .record({
    poolMode: fc.constantFrom("direct" as const, "transaction" as const),
    bound: fc.constantFrom("io" as const, "cpu" as const),
    order: fc.constantFrom("key" as const, "none" as const),
    jobsPerSecond: spread(10, 500),
    burst: spread(1, 4),
    handlerP50Ms: spread(2, 2_000),
    tail: spread(1, 30),
    keys: fc.integer({ min: 50, max: 20_000 }),
    hottestKeyShare: spread(0.0001, 0.5),
    latencyTargetMs: spread(80, 10_000),
  })
  .map(({ poolMode, burst, tail, ...rest }) => ({
    cluster: { poolMode, databaseCores: 4, connectionLimit: 5_000 },
    workload: {
      ...rest,
      peakJobsPerSecond: rest.jobsPerSecond * burst,
      handlerP99Ms: rest.handlerP50Ms * tail,
    },
  }));

test("a target that is said to be kept is kept, for workloads of all sorts", () => {
  fc.assert(
    fc.property(moderate, ({ cluster, workload }) => {
      const { settings, meets } = recommend(cluster, workload);
      fc.pre(meets.latency && settings.workers <= 100);
      const lagOf = (jobs: number, seed: number): number => {
        const seconds = Math.min(3_600, Math.max(10, Math.ceil(jobs / workload.jobsPerSecond)));
        return predict(cluster, workload, settings, { seed, seconds }).lag.p99Ms;
      };
      // Of 2 000 jobs twenty late ones, which come together, decide: what exceeds the target there is decided by ten times as many.
      if (lagOf(2_000, 5) > workload.latencyTargetMs)
        expect(lagOf(20_000, 6)).toBeLessThanOrEqual(workload.latencyTargetMs);
    }),
    { numRuns: 100, seed: 42 },
  );
});

/** The first columns of a row of the table in docs/tuning.md; the predicted figures follow. */
function lineOf({ name, cluster, workload }: NamedWorkload): string {
  const { settings, limit, meets } = recommend(cluster, workload);
  const { jobsPerSecond: average, peakJobsPerSecond: peak } = workload;
  const rate = peak === undefined ? `${average}` : `${average}, peak ${peak}`;
  const handlers = `${workload.handlerP50Ms} / ${workload.handlerP99Ms}`;
  const fleet = `${settings.workers} x ${settings.concurrency}`;
  const target = workload.latencyTargetMs ?? 1_000;
  const atRate = Number(limit.jobsPerSecond.toPrecision(2));
  return `| ${name} | ${rate} | ${handlers} | ${fleet} | ${limit.resource} at ${atRate}/s | ${target} | ${meets.latency ? "yes" : "no"} |`;
}

describe("a prediction", () => {
  test("is the same for the same seed, and another for another", () => {
    const of = (seed: number) => predict({}, small, {}, { seed, seconds: 10 });
    expect(of(1)).toEqual(of(1));
    expect(of(1).lag).not.toEqual(of(2).lag);
  });

  test("starts every job of a fleet that keeps up, whatever the settings", () => {
    fc.assert(
      fc.property(
        fc.record({
          workers: fc.integer({ min: 1, max: 8 }),
          concurrency: fc.integer({ min: 4, max: 32 }),
          claimBatch: fc.integer({ min: 1, max: 100 }),
          pollIdleMs: fc.integer({ min: 100, max: 2_000 }),
        }),
        fc.record({
          order: fc.constantFrom("key" as const, "none" as const),
          poolMode: fc.constantFrom("direct" as const, "transaction" as const),
        }),
        fc.integer({ min: 0, max: 1_000 }),
        (settings, { order, poolMode }, seed) => {
          const options = { seed, seconds: 12 };
          const { slices, busy } = predict({ poolMode }, { ...small, order }, settings, options);
          // Two seconds are more than the longest poll and a handler or two; only what came after may still wait.
          const early = slices.filter(({ fromSecond }) => fromSecond < 9);
          for (const { p99Ms } of early) expect(p99Ms).toBeLessThan(3_000);
          for (const share of Object.values(busy)) expect(share >= 0 && share <= 1).toBe(true);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("has the latency of an idle worker that the bench measured on a quiet machine (B5), within a factor of two", () => {
    const idle: Workload = { jobsPerSecond: 20, handlerP50Ms: 0.1, handlerP99Ms: 0.2, order: "none" };
    const { p50Ms, p99Ms } = predict({}, idle, {}, { seconds: 60 }).lag;
    expect(p50Ms).toBeGreaterThan(3.68 / 2);
    expect(p50Ms).toBeLessThan(3.68 * 2);
    expect(p99Ms).toBeGreaterThan(9.48 / 2);
    expect(p99Ms).toBeLessThan(9.48 * 2);
  });

  test("polls where LISTEN does not work", () => {
    const slow = { jobsPerSecond: 1, handlerP50Ms: 5, handlerP99Ms: 10 };
    const told = predict({}, slow, { pollIdleMs: 2_000 }, { seconds: 200 });
    const polling = predict({ poolMode: "transaction" }, slow, { pollIdleMs: 2_000 }, { seconds: 200 });
    expect(told.lag.p99Ms).toBeLessThan(100);
    expect(polling.lag.p50Ms).toBeGreaterThan(500);
    expect(polling.lag.maxMs).toBeLessThan(2_200);
  });

  test("shows a backlog that grows when the handlers can't keep up", () => {
    const settings = { workers: 1, concurrency: 2 };
    const heavy = { ...small, jobsPerSecond: 200, order: "none" as const };
    const { busy, slices, waiting } = predict({}, heavy, settings, { seconds: 20 });
    expect(busy.handlers).toBeGreaterThan(0.8);
    expect(waiting).toBeGreaterThan(1_000);
    expect(slices[6]!.p50Ms).toBeGreaterThan(slices[2]!.p50Ms);
  });

  test("counts handlers as busy that still run at the end, or ran when their worker crashed", () => {
    const long = { jobsPerSecond: 5, handlerP50Ms: 90_000, handlerP99Ms: 90_000, order: "none" as const };
    const settings = { workers: 2, concurrency: 4 };
    expect(predict({}, long, settings, { seconds: 60 }).busy.handlers).toBeGreaterThan(0.9);
    const { busy } = predict({}, long, settings, { seconds: 60, crashAtSeconds: 30 });
    expect(busy.handlers).toBeGreaterThan(0.6);
    expect(busy.handlers).toBeLessThan(0.8);
  });

  test("runs the jobs of one key one after the other", () => {
    const hot = { ...small, jobsPerSecond: 60, hottestKeyShare: 1, keys: 1 };
    const { busy, waiting } = predict({}, hot, { workers: 4, concurrency: 16 }, { seconds: 20 });
    expect(busy.hot_key).toBeGreaterThan(0.9);
    expect(busy.handlers).toBeLessThan(1 / 32);
    expect(waiting).toBeGreaterThan(100);
  });

  test("shows a crash for as long as it takes to be noticed, and no longer", () => {
    const settings = { workers: 2, concurrency: 8 };
    const of = (poolMode: "direct" | "transaction") =>
      predict(
        { poolMode },
        small,
        { ...settings, heartbeatMs: 3_000, ttlMs: 9_000 },
        { seconds: 40, crashAtSeconds: 10 },
      );
    const late = (from: number, prediction = of("direct")) =>
      prediction.slices.filter(({ fromSecond, p99Ms }) => fromSecond >= from && p99Ms > 1_000).length;
    expect(of("direct").lag.maxMs).toBeGreaterThan(2_000);
    expect(of("direct").lag.maxMs).toBeLessThan(3_500);
    expect(late(14)).toBe(0);
    expect(of("transaction").lag.maxMs).toBeGreaterThan(9_000);
    expect(late(22, of("transaction"))).toBe(0);
    expect(of("direct").waiting).toBeLessThan(5);
  });

  test("has a limit of jobs, and says how much time it went through", () => {
    const { seconds, jobs } = predict(
      { databaseCores: 64 },
      { jobsPerSecond: 1_000_000, handlerP50Ms: 0.01, handlerP99Ms: 0.01, order: "none" },
      { workers: 2, concurrency: 1 },
      { seconds: 1 },
    );
    expect(seconds).toBeLessThanOrEqual(1);
    expect(jobs).toBeLessThanOrEqual(200_000);
  });

  test("of options that make no sense is refused", () => {
    const refused = (option: string) => expect.objectContaining({ code: "LH_INVALID_OPTION", option });
    expect(() => predict({}, small, {}, { seconds: 0 })).toThrow(refused("seconds"));
    expect(() => predict({}, small, {}, { seed: -1 })).toThrow(refused("seed"));
    expect(() => predict({}, small, {}, { second: 1 } as object)).toThrow(refused("second"));
    expect(() => predict({}, small, {}, { seconds: 10, crashAtSeconds: 11 })).toThrow(
      refused("crashAtSeconds"),
    );
    expect(() => predict({}, small, { concurrency: 0 })).toThrow(refused("concurrency"));
    expect(() => chart({} as never)).toThrow(refused("prediction"));
    expect(() => chart(predict({}, small, {}, { seconds: 1 }), 5)).toThrow(refused("width"));
  });
});

describe("the chart", () => {
  test("fits its width, and is highest where the lag is", () => {
    const crash = predict({}, small, { workers: 2 }, { seconds: 60, crashAtSeconds: 30 });
    for (const width of [50, 72, 80, 200]) {
      const lines = chart(crash, width).split("\n");
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
    }
    const top = chart(crash, 80).split("\n")[1] ?? "";
    const column = top.search(/[▁-█]/) - top.indexOf("│") - 1;
    expect(column).toBeGreaterThanOrEqual(28);
    expect(column).toBeLessThanOrEqual(31);
  });
});

describe("the parts of the model", () => {
  test("handler times have the median and the 99th percentile that were given, and the computed mean", () => {
    const dice = new Dice(3);
    const times = handlerTimes(50, 800);
    const samples = Array.from({ length: 200_000 }, () => times.sample(dice.normal())).sort((a, b) => a - b);
    const mean = samples.reduce((sum, ms) => sum + ms, 0) / samples.length;
    expect(samples[100_000]! / 50).toBeCloseTo(1, 1);
    expect(samples[198_000]! / 800).toBeCloseTo(1, 1);
    expect(times.meanMs / mean).toBeCloseTo(1, 1);
    expect(samples.at(-1)).toBeLessThanOrEqual(2_400);
  });

  test("what happens on the timeline happens in the order of its time, then in the order it was made", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (moments) => {
        const timeline = new Timeline();
        const seen: [number, number][] = [];
        for (const [n, atMs] of moments.entries()) timeline.at(atMs, () => seen.push([timeline.nowMs, n]));
        timeline.runUntil(30);
        const sorted = [...moments.entries()].map(([n, atMs]) => [atMs, n]);
        sorted.sort(([a = 0, n = 0], [b = 0, m = 0]) => a - b || n - m);
        expect(seen).toEqual(sorted);
      }),
    );
  });
});
