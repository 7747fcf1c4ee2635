import { expect, test } from "vitest";
import type { ClaimPass } from "../../../src/work/claim.js";
import { WalkRound } from "../../../src/work/walk-round.js";

/** A pass that took nothing; `stops` says for each bucket with unseen keys whether the walk has come round. */
const pass = (stops: readonly (readonly [number, boolean])[], dueInMs: number | null = null): ClaimPass => ({
  jobs: [],
  retriesLeft: 0,
  bytes: 0,
  isCut: false,
  busyElsewhere: 0,
  dueInMs,
  stops: new Map(stops),
  looked: [],
  fronts: new Map(),
  ends: new Map(),
  foreign: new Map(),
});

test("a pass that saw every key is a round by itself", () => {
  expect(new WalkRound().note(pass([], 700), 0)).toMatchObject({ isDone: true, dueInMs: 700 });
});

test("a round lasts until every bucket has come round, and remembers the first due time of all its passes", () => {
  const round = new WalkRound();
  expect(
    round.note(
      pass(
        [
          [1, false],
          [2, false],
        ],
        900,
      ),
      100,
    ).isDone,
  ).toBe(false);
  expect(
    round.note(
      pass(
        [
          [1, true],
          [2, false],
        ],
        5_000,
      ),
      110,
    ).isDone,
  ).toBe(false);
  expect(
    round.note(
      pass(
        [
          [1, false],
          [2, true],
        ],
        6_000,
      ),
      120,
    ),
  ).toEqual({ isDone: true, restMs: 380, dueInMs: 880 });
});

test("a bucket that has nothing more to visit is done", () => {
  const round = new WalkRound();
  expect(round.note(pass([[1, false]]), 0).isDone).toBe(false);
  expect(round.note(pass([]), 1).isDone).toBe(true);
});

test("what falls due in the middle of a round ends it, so that the next begins at the front", () => {
  const round = new WalkRound();
  expect(round.note(pass([[1, false]], 5), 0).isDone).toBe(false);
  expect(round.note(pass([[1, false]]), 10).isDone).toBe(true);
});

test("a round that was given up begins anew", () => {
  const round = new WalkRound();
  round.note(pass([[1, false]], 5), 0);
  round.reset();
  expect(round.note(pass([], 50), 100)).toEqual({ isDone: true, restMs: 0, dueInMs: 50 });
});
