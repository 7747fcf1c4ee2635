import { expect, test } from "vitest";
import { defaults } from "../../../src/settings.js";
import { HotKeys } from "../../../src/work/hot-keys.js";

const pass = (...counts: readonly (readonly [string, number])[]): Map<string, number> => new Map(counts);

test("a key is hot after full runs that make up so many rows, and no longer after one that is not full", () => {
  const hot = new HotKeys();
  for (let rows = 20; rows < defaults.hotKeyRows; rows += 20)
    expect(hot.note(pass(["k", 20]), 20)).toEqual([]);
  expect(hot.noteLineDone("k")).toBe(false);
  expect(hot.note(pass(["k", 20], ["other", 20]), 20)).toEqual(["k"]);
  expect(hot.noteLineDone("k")).toBe(true);
  expect([...hot.waiting]).toEqual(["k"]);
  expect(hot.note(pass(["k", 19]), 20)).toEqual([]);
  expect([...hot.waiting]).toEqual([]);
  expect(hot.noteLineDone("k")).toBe(false);
});

test("only a few hot keys wait for a claim of their own", () => {
  const hot = new HotKeys();
  const many = Array.from({ length: 10 }, (_, i) => [`k${i}`, 1_000] as const);
  expect(hot.note(pass(...many), 100)).toHaveLength(10);
  for (const [key] of many) expect(hot.noteLineDone(key)).toBe(true);
  expect(hot.waiting.size).toBe(defaults.hotKeysMax);
  hot.clearWaiting();
  expect(hot.waiting.size).toBe(0);
});

test("what is remembered of full runs has a limit", () => {
  const hot = new HotKeys();
  hot.note(pass(["first", 1_000]), 20);
  hot.note(pass(...Array.from({ length: defaults.lookAgainKeysMax }, (_, i) => [`k${i}`, 20] as const)), 20);
  expect(hot.noteLineDone("first")).toBe(false);
});
