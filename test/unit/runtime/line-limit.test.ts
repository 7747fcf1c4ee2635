import { expect, test } from "vitest";
import { LineLimit } from "../../../src/runtime/line-limit.js";
import { defaults } from "../../../src/settings.js";

const { logLinesMax, logWindowMs } = defaults;

function admitted(limit: LineLimit, name: string, count: number, nowMs: number): number {
  return Array.from({ length: count }, () => limit.admits(name, nowMs)).filter(Boolean).length;
}

test("each name has so many lines in a window, and the rest is counted", () => {
  const limit = new LineLimit();
  expect(admitted(limit, "job:failed", 100, 5)).toBe(logLinesMax);
  expect(admitted(limit, "workers:lost", 3, 6)).toBe(3);
  expect(limit.ended(5 + logWindowMs - 1)).toEqual([]);
  expect(limit.ended(5 + logWindowMs)).toEqual([{ name: "job:failed", count: 100 - logLinesMax }]);
  expect(admitted(limit, "job:failed", 2, 5 + logWindowMs)).toBe(2);
});

test("a window in which nothing was left out ends in silence, and is forgotten", () => {
  const limit = new LineLimit();
  admitted(limit, "job:failed", logLinesMax, 0);
  expect(limit.ended(Number.POSITIVE_INFINITY)).toEqual([]);
  expect(limit.admits("job:failed", 0)).toBe(true);
});
