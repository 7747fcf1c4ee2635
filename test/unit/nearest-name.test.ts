import fc from "fast-check";
import { expect, test } from "vitest";
import { editDistance, nearestName } from "../../src/nearest-name.js";

test("the distance is the number of letters to change", () => {
  expect(editDistance("", "")).toBe(0);
  expect(editDistance("kind", "kind")).toBe(0);
  expect(editDistance("kinds", "kind")).toBe(1);
  expect(editDistance("partitonkey", "partitionkey")).toBe(1);
  expect(editDistance("abc", "")).toBe(3);
  expect(editDistance("sitting", "kitten")).toBe(3);
});

test("the distance is 0 for equal texts only, the same both ways, and never longer than a detour", () => {
  const text = fc.string({ maxLength: 12 });
  fc.assert(
    fc.property(text, text, text, (a, b, c) => {
      expect(editDistance(a, b) === 0).toBe(a === b);
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, c)).toBeLessThanOrEqual(editDistance(a, b) + editDistance(b, c));
    }),
  );
});

test("one changed letter is found again, in any style of writing", () => {
  const names = ["partitionKey", "idempotencyKey", "priority", "maxAttempts", "delayMs"];
  for (const name of names) {
    expect(nearestName(name.slice(0, -1), names)).toBe(name);
    expect(nearestName(name.toUpperCase(), names)).toBe(name);
    expect(
      nearestName(
        name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`),
        names,
      ),
    ).toBe(name);
  }
});

test("a name that is like none of them has no nearest, nor has one that is very long", () => {
  expect(nearestName("tx", ["kind", "payload"])).toBeNull();
  expect(nearestName("anything", [])).toBeNull();
  expect(nearestName("k".repeat(1_000_000), ["k".repeat(1_000_000)])).toBeNull();
});
