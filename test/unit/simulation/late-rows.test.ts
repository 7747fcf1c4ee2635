import { expect, test } from "vitest";
import { type HistoryBuilder, objections } from "./history-builder.js";

test("a row that committed below others is passed over by one claim, where that is allowed", () => {
  const build = (h: HistoryBuilder): unknown =>
    h
      .reserve("late")
      .enqueue("1")
      .enqueue("2")
      .insert("late")
      .tick(50)
      .work("1", "a#1", 1n)
      .work("late", "a#1", 2n)
      .work("2", "a#1", 3n);
  expect(objections(build, { lateClaimsMax: 1, raceMs: 10 })).toEqual([]);
  expect(objections(build)).toEqual(["order per key"]);
});

test("a row that committed below others is passed over again and again", () => {
  const build = (h: HistoryBuilder): unknown =>
    h
      .reserve("late")
      .enqueue("1")
      .enqueue("2")
      .insert("late")
      .tick(50)
      .work("1", "a#1", 1n)
      .work("2", "a#1", 2n)
      .work("late", "a#1", 3n);
  expect(objections(build, { lateClaimsMax: 1, raceMs: 10 })).toEqual(["order per key"]);
});
