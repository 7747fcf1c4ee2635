import { expect, test } from "vitest";
import { defaults } from "../../../src/settings.js";
import { HotKeys } from "../../../src/work/hot-keys.js";

const pass = (...counts: readonly (readonly [string, number])[]): Map<string, number> => new Map(counts);

test("a key is hot after full runs that make up so many rows, and no longer after one that is not full", () => {
  const hot = new HotKeys();
  for (let rows = 20; rows < defaults.hotKeyRows; rows += 20)
    expect(hot.note(pass(["k", 20]), 20)).toEqual([]);
  hot.noteLineDone("k");
  expect([...hot.waiting]).toEqual([]);
  expect(hot.note(pass(["k", 20], ["other", 20]), 20)).toEqual(["k"]);
  hot.noteLineDone("k");
  expect([...hot.waiting]).toEqual(["k"]);
  expect(hot.note(pass(["k", 19]), 20)).toEqual([]);
  expect([...hot.waiting]).toEqual([]);
  hot.noteLineDone("k");
  expect([...hot.waiting]).toEqual([]);
});

test("only a few hot keys wait for a claim of their own", () => {
  const hot = new HotKeys();
  const many = Array.from({ length: 10 }, (_, i) => [`k${i}`, 1_000] as const);
  expect(hot.note(pass(...many), 100)).toHaveLength(10);
  for (const [key] of many) hot.noteLineDone(key);
  expect(hot.waiting.size).toBe(defaults.hotKeysMax);
  hot.askedFor(["k0", "k9"]);
  expect(hot.waiting.size).toBe(defaults.hotKeysMax - 1);
  hot.askedFor(hot.waiting);
  expect(hot.waiting.size).toBe(0);
});

test("what is remembered of full runs has a limit", () => {
  const hot = new HotKeys();
  hot.note(pass(["first", 1_000]), 20);
  hot.note(pass(...Array.from({ length: defaults.lookAgainKeysMax }, (_, i) => [`k${i}`, 20] as const)), 20);
  hot.noteLineDone("first");
  expect(hot.waiting.size).toBe(0);
});
