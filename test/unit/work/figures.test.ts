import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recentWork } from "../../../src/operate/recent.js";
import type { Clock } from "../../../src/seams/clock.js";
import { defaults } from "../../../src/settings.js";
import { Figures } from "../../../src/work/figures.js";
import { durationBoundsMs, Histogram } from "../../../src/work/histogram.js";

function clockAt(time: { nowMs: number }): Clock {
  return {
    monotonicMs: () => time.nowMs,
    epochMs: () => time.nowMs,
    databaseNow: () => null,
    sleep: () => Promise.resolve(),
  };
}

/** From one bound to the next. */
const step = 2 ** 0.25;

describe("a histogram", () => {
  test("has percentiles that are off by a fifth at most", () => {
    const value = fc.double({ min: 0.2, max: 900_000, noNaN: true });
    fc.assert(
      fc.property(fc.array(value, { minLength: 1 }), fc.constantFrom(0.5, 0.9, 0.99, 1), (values, share) => {
        const histogram = new Histogram(durationBoundsMs);
        for (const one of values) histogram.record(one);
        const sorted = [...values].sort((a, b) => a - b);
        const exact = sorted[Math.max(0, Math.ceil(share * values.length) - 1)] ?? 0;
        const estimate = histogram.percentile(share) ?? 0;
        expect(estimate).toBeGreaterThan(exact / step - 1e-9);
        expect(estimate).toBeLessThan(exact * step + 1e-9);
      }),
    );
  });

  test("counts what is above all bounds, and what is not positive", () => {
    const histogram = new Histogram([1, 10]);
    for (const value of [-1, 0, 1, 5, 10, 11, 1e9]) histogram.record(value);
    expect(histogram.counts).toEqual([3, 2, 2]);
    expect(histogram.count).toBe(7);
    expect(histogram.percentile(1)).toBe(10);
    expect(new Histogram([1]).percentile(0.5)).toBeNull();
  });
});

describe("figures", () => {
  test("the recent ones are those of the last one to two windows", () => {
    const time = { nowMs: 0 };
    const figures = new Figures(clockAt(time));
    figures.handled("mail", 5);
    figures.count("completed");
    expect(figures.recent()).toMatchObject({ counts: { completed: 1 } });
    time.nowMs += defaults.figuresWindowMs;
    figures.recent();
    figures.count("retried");
    expect(figures.recent().counts).toEqual({ completed: 1, retried: 1 });
    time.nowMs += defaults.figuresWindowMs;
    expect(figures.recent()).toMatchObject({ counts: { retried: 1 }, handlers: {} });
    time.nowMs += defaults.figuresWindowMs;
    expect(figures.recent().counts).toEqual({});
    expect(figures.counts).toMatchObject({ completed: 1, retried: 1 });
  });

  test("kinds beyond the limit are counted together, and few are told", () => {
    const figures = new Figures(clockAt({ nowMs: 0 }));
    for (let n = 0; n < defaults.figuresKindsMax + 50; n++) figures.handled(`kind-${n}`, 1);
    expect(figures.handlers.size).toBe(defaults.figuresKindsMax + 1);
    expect(figures.handlers.get("(other)")?.count).toBe(50);
    expect(Object.keys(figures.recent().handlers)).toHaveLength(defaults.figuresKindsTold);
    expect(Object.keys(figures.recent().handlers)[0]).toBe("(other)");
  });

  test("of several workers add up", () => {
    const time = { nowMs: 0 };
    const [one, other] = [new Figures(clockAt(time)), new Figures(clockAt(time))];
    one.claimed("wake", 2, 3);
    other.claimed("poll", 200, 5);
    one.handled("mail", 10);
    other.handled("mail", 10);
    one.count("completed", 4);
    other.count("completed", 6);
    time.nowMs = 10_000;
    const work = recentWork([one.recent(), other.recent()]);
    expect(work).toMatchObject({ workers: 2, completedPerSecond: 1, claims: { count: 2, rowsPerClaim: 4 } });
    expect(work.claimsByCause.wake.count).toBe(1);
    expect(work.claimsByCause.poll.p99Ms).toBeGreaterThan(140);
    expect(work.handlers.mail).toMatchObject({ count: 2 });
    expect(recentWork([])).toMatchObject({ workers: 0, completedPerSecond: 0, claims: { p50Ms: null } });
  });
});
