import { expect, test } from "vitest";
import { defaults } from "../../../src/settings.js";
import { KnownKeys } from "../../../src/work/known-keys.js";

const filled = (count: number): KnownKeys => {
  const known = new KnownKeys();
  for (let i = 0; i < count; i++)
    known.remember({ key: `key-${i}`, bucket: i % 10, floor: BigInt(i), doneTo: BigInt(i), turn: 7n }, 0);
  return known;
};

/** Costs of passes as they are while an old snapshot is held: walking is dear. */
const worn = (known: KnownKeys, nowMs: number): void => {
  known.noteCost("known", { tookMs: 5, nowMs, rows: 500, isFilled: true });
  known.noteCost("walk", { tookMs: 100, nowMs, rows: 500, isFilled: true });
};

const asked = (known: KnownKeys, passes: number, nowMs = 0): number => {
  let count = 0;
  for (let i = 0; i < passes; i++) if (known.next(nowMs, 1_000).length > 0) count++;
  return count;
};

test("while walking is as good, one pass in sixteen asks for known keys", () => {
  const known = filled(100);
  expect(asked(known, 64)).toBe(4);
  known.noteCost("known", { tookMs: 5, nowMs: 0, rows: 500, isFilled: true });
  known.noteCost("walk", { tookMs: 6, nowMs: 0, rows: 500, isFilled: true });
  expect(asked(known, 64)).toBe(4);
});

test("known keys that have nothing left are soon left alone, however dear walking is", () => {
  const known = filled(100);
  worn(known, 0);
  expect(asked(known, 16, 1)).toBe(16);
  for (let i = 0; i < 40; i++) known.noteCost("known", { tookMs: 2, nowMs: 1, rows: 0, isFilled: false });
  expect(asked(known, 16, 1)).toBe(1);
});

test("once walking is dear it gets a tenth of the time", () => {
  const known = filled(100);
  worn(known, 1_000);
  expect(known.next(1_001, 1_000).length).toBe(100);
  expect(known.next(1_899, 1_000).length).toBe(100);
  expect(known.next(1_901, 1_000)).toEqual([]);
});

test("keys are asked for in the order in which they were left, and no more than wanted", () => {
  const known = filled(250);
  worn(known, 0);
  known.remember({ key: "key-0", bucket: 0, floor: 99n, doneTo: 99n, turn: 7n }, 0);
  const first = known.next(1, 200);
  expect(first).toHaveLength(200);
  expect(first[0]).toEqual({ key: "key-1", bucket: 1, floor: 1n, doneTo: 1n, turn: 7n });
  expect(known.of(["key-0"])).toEqual([{ key: "key-0", bucket: 0, floor: 99n, doneTo: 99n, turn: 7n }]);
});

test("a key that has had nothing for a while is left to the walk", () => {
  const known = filled(20);
  worn(known, 0);
  known.missed(known.next(1, 1_000), defaults.knownIdleMs - 1);
  known.remember({ key: "key-3", bucket: 3, floor: 9n, doneTo: 9n, turn: 7n }, defaults.knownIdleMs);
  worn(known, defaults.knownIdleMs);
  known.missed(known.of(Array.from({ length: 20 }, (_, i) => `key-${i}`)), defaults.knownIdleMs);
  expect(known.of(Array.from({ length: 20 }, (_, i) => `key-${i}`))).toEqual([
    { key: "key-3", bucket: 3, floor: 9n, doneTo: 9n, turn: 7n },
  ]);
});

test("a key may be forgotten, and the oldest is when there are too many", () => {
  const known = filled(100);
  worn(known, 0);
  known.forget("key-0");
  expect(known.next(1, 1_000)).toHaveLength(99);
  expect(known.of(["key-0", "key-1"]).map(({ key }) => key)).toEqual(["key-1"]);
  for (let i = 0; i <= defaults.knownKeysMax; i++)
    known.remember({ key: `other-${i}`, bucket: 0, floor: 0n, doneTo: 0n, turn: 7n }, 0);
  expect(known.of(["key-1", "other-0", `other-${defaults.knownKeysMax}`])).toHaveLength(1);
});

test("while a walk is under way the claim beside it asks for known keys", () => {
  const known = filled(100);
  worn(known, 0);
  expect(known.next(1_000, 1_000)).toEqual([]);
  known.noteWalkBegun(1_000);
  expect(known.next(1_001, 1_000)).toHaveLength(100);
});

test("a walk is dear only beside known keys that bring all that can be taken", () => {
  const known = filled(100);
  known.noteCost("walk", { tookMs: 100, nowMs: 0, rows: 500, isFilled: true });
  expect(known.isWalkDear).toBe(false);
  known.noteCost("known", { tookMs: 5, nowMs: 0, rows: 500, isFilled: true });
  expect(known.isWalkDear).toBe(true);
  known.noteCost("known", { tookMs: 5, nowMs: 0, rows: 499, isFilled: false });
  expect(known.isWalkDear).toBe(false);
  const few = filled(defaults.spanBucketsMin - 1);
  worn(few, 0);
  expect(few.isWalkDear).toBe(false);
});
