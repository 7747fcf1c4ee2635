import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaults } from "../../../src/settings.js";
import { isStorableText } from "../../../src/work/json.js";
import { complete, DeadLetter, outcomeOf, RetryAfter, release } from "../../../src/work/outcome.js";
import { deadLetter, retryAfter } from "../../../src/work/retry-after.js";

function textOf(thrown: unknown): string {
  const outcome = outcomeOf(thrown);
  if (outcome.is !== "retry" && outcome.is !== "dead_letter") throw new Error(`it is ${outcome.is}`);
  return outcome.error;
}

const fail = (): never => {
  throw new Error("hostile");
};

function errorWith(properties: PropertyDescriptorMap): Error {
  return Object.defineProperties(new Error("plain"), properties);
}

const undescribable = "an error that can't be described";

describe("whatever a handler throws becomes a retry with words", () => {
  const thrown: readonly (readonly [name: string, value: unknown, words: string])[] = [
    ["an error", new TypeError("no"), "TypeError: no"],
    ["a text", "smtp said no", "smtp said no"],
    ["the empty text", "", "an error without a message"],
    ["undefined", undefined, "threw undefined"],
    ["null", null, "threw null"],
    ["a number", 42, "threw 42"],
    ["a BigInt", 42n, "threw 42"],
    ["a symbol", Symbol("s"), "threw Symbol(s)"],
    ["a plain object", { status: 503 }, 'threw {"status":503}'],
    ["an object that serialises to nothing", { toJSON: () => undefined }, "threw an object"],
    ["an object with a hostile toString, which is not asked", { toString: fail }, "threw {}"],
    ["an object with a hostile toJSON", { toJSON: fail }, undescribable],
    [
      "an object with a hostile getter",
      Object.defineProperty({}, "a", { get: fail, enumerable: true }),
      undescribable,
    ],
    ["an object with a BigInt in it", { id: 1n }, undescribable],
    ["a function with a hostile toString", Object.assign(() => 1, { toString: fail }), undescribable],
    ["an error with a hostile message", errorWith({ message: { get: fail } }), undescribable],
    ["an error with a hostile name", errorWith({ name: { get: fail } }), undescribable],
    ["an error whose message is a symbol", errorWith({ message: { value: Symbol("s") } }), undescribable],
    ["an error whose message is missing", errorWith({ message: { value: undefined } }), "Error: undefined"],
    ["an error with NUL and a lone surrogate", new Error("a\u0000b\ud800"), "Error: a\ufffdb\ufffd"],
  ];

  test.each(thrown)("%s", (_name, value, words) => {
    expect(outcomeOf(value)).toMatchObject({ is: "retry", error: words, delayMs: null });
  });

  test("an object that contains itself", () => {
    const loop: { me?: unknown } = {};
    loop.me = loop;
    expect(textOf(loop)).toBe(undescribable);
  });

  test("a huge message is cut", () => {
    const text = textOf(new Error("x".repeat(10_000_000)));
    expect(text).toHaveLength(defaults.errorTextMax);
    expect(text.startsWith("Error: xxx")).toBe(true);
  });

  test("any value, and any text in an error: the words can be stored and are never empty", () => {
    const text = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
    const value = fc.oneof(
      fc.anything({ withBigInt: true, withNullPrototype: true }),
      text,
      text.map((message) => new Error(message)),
    );
    fc.assert(
      fc.property(value, (thrownValue) => {
        const words = textOf(thrownValue);
        expect(words.length).toBeGreaterThan(0);
        expect(words.length).toBeLessThanOrEqual(defaults.errorTextMax);
        expect(isStorableText(words)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});

test("retryAfter chooses the wait, and keeps its reason", () => {
  expect(outcomeOf(retryAfter(60_000, "rate limited"))).toEqual({
    is: "retry",
    error: "RetryAfter: rate limited",
    delayMs: 60_000,
  });
  expect(outcomeOf(retryAfter(0))).toMatchObject({ delayMs: 0 });
  expect(retryAfter(1)).toBeInstanceOf(RetryAfter);
});

test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, defaults.delayMsMax + 1])(
  "retryAfter(%d) is refused where it is written",
  (delayMs) => {
    expect(() => retryAfter(delayMs)).toThrow(expect.objectContaining({ code: "LH_INVALID_OPTION" }));
  },
);

test("deadLetter gives up, also when it is a subclass and its reason is not storable", () => {
  expect(outcomeOf(deadLetter("no such customer"))).toEqual({
    is: "dead_letter",
    error: "DeadLetter: no such customer",
  });
  class Gone extends DeadLetter {}
  expect(outcomeOf(new Gone("a\u0000"))).toEqual({ is: "dead_letter", error: "DeadLetter: a\ufffd" });
});

test("complete and release carry nothing and can't be changed", () => {
  expect(complete).toEqual({ is: "complete" });
  expect(release).toEqual({ is: "release" });
  expect(Object.isFrozen(complete) && Object.isFrozen(release)).toBe(true);
});
