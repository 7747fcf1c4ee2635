import { expect, test } from "vitest";
import { slope, slopesOf, tooSteep } from "../../../soak/slopes.js";

test("the slope of a line is its rise, whatever the first value", () => {
  expect(slope([0, 1, 2, 3].map((x) => ({ x, y: 7 + 2 * x })))).toBeCloseTo(2);
  expect(slope([{ x: 1, y: 5 }])).toBe(0);
  expect(slope([])).toBe(0);
});

test("the warm-up does not count, and what rises faster than it may is named", () => {
  const samples = Array.from({ length: 121 }, (_, minute) => ({
    minute,
    figures: { steady: Math.min(minute, 30), leak: minute / 6, free: minute },
  }));
  const slopes = slopesOf(samples, 30, { steady: 1, leak: 9 });
  expect(slopes.map(({ name, perHour }) => [name, Math.round(perHour)])).toEqual([
    ["steady", 0],
    ["leak", 10],
    ["free", 60],
  ]);
  expect(tooSteep(slopes).map(({ name }) => name)).toEqual(["leak"]);
});
