import { isDeepStrictEqual } from "node:util";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidPayloadError, LeaseholdError, PayloadTooLargeError } from "../../../src/errors.js";
import { defaults } from "../../../src/settings.js";
import { isStorableText, storableText, toJson } from "../../../src/work/json.js";

const json = (value: unknown): string => toJson("payload", value, defaults.payloadLimitBytes);

function refusal(value: unknown): InvalidPayloadError {
  try {
    json(value);
  } catch (error) {
    if (error instanceof InvalidPayloadError) return error;
    throw error;
  }
  throw new Error("the value was accepted");
}

function nested(levels: number): unknown {
  let value: unknown = "ground";
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { in: value };
  return value;
}

function cyclic(): { inner: { back?: unknown } } {
  const value: { inner: { back?: unknown } } = { inner: {} };
  value.inner.back = value;
  return value;
}

/** JSON writes minus zero as 0, which is equal to it. */
const withoutMinusZero = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

class Point {
  readonly x = 1;
}

describe("a value that would not come back equal is refused, with its path", () => {
  const refused: readonly (readonly [name: string, value: unknown, path: string, words: RegExp])[] = [
    ["undefined", undefined, "payload", /undefined is not JSON/],
    ["a function", { run: () => 1 }, "payload.run", /function is not JSON/],
    ["a symbol", [Symbol("s")], "payload[0]", /symbol is not JSON/],
    ["a BigInt", { order: { id: 1n } }, "payload.order.id", /BigInt/],
    ["NaN", [1, Number.NaN], "payload[1]", /NaN is not a JSON number/],
    ["Infinity", { n: Number.POSITIVE_INFINITY }, "payload.n", /Infinity is not a JSON number/],
    ["minus Infinity", -Number.POSITIVE_INFINITY, "payload", /-Infinity/],
    ["NUL in a text", { a: ["ok", "b\u0000c"] }, "payload.a[1]", /NUL/],
    ["a lone high surrogate", { a: "\ud83d" }, "payload.a", /lone surrogate/],
    ["a lone low surrogate", "\ude00", "payload", /lone surrogate/],
    ["NUL in a property name", { deep: { "a\u0000": 1 } }, "payload.deep", /property name/],
    ["a lone surrogate in a property name", { "\ud800": 1 }, "payload", /property name/],
    ["a Date", { at: new Date(0) }, "payload.at", /a Date comes back as something else/],
    ["an invalid Date", new Date(Number.NaN), "payload", /a Date/],
    ["a Map", new Map([["a", 1]]), "payload", /a Map comes back as something else/],
    ["a Set", { tags: new Set([1]) }, "payload.tags", /a Set/],
    ["bytes", { body: new Uint8Array(2) }, "payload.body", /Uint8Array/],
    ["a Buffer", Buffer.from("x"), "payload", /Buffer/],
    ["a regular expression", /x/, "payload", /RegExp/],
    ["a URL", new URL("http://a/"), "payload", /URL/],
    ["an Error", new Error("x"), "payload", /Error/],
    ["a Promise", Promise.resolve(1), "payload", /Promise/],
    ["an instance of a class", { at: new Point() }, "payload.at", /a Point comes back as something else/],
    ["a boxed number", new Number(1), "payload", /Number/],
    ["an inherited object", Object.create({ a: 1 }), "payload", /comes back as something else/],
    ["an object with toJSON", { toJSON: () => 1 }, "payload", /comes back as something else/],
    ["a hole in an array", new Array(1), "payload[0]", /undefined is not JSON/],
    ["undefined in an array", [undefined], "payload[0]", /undefined is not JSON/],
    ["a cycle", cyclic(), "payload.inner.back", /contains itself/],
  ];

  test.each(refused)("%s", (_name, value, path, words) => {
    const error = refusal(value);
    expect(error.path).toBe(path);
    expect(error.code).toBe("LH_INVALID_PAYLOAD");
    expect(error.message).toMatch(words);
    expect(error.message).toContain(path);
  });

  test("an array that contains itself", () => {
    const loop: unknown[] = [];
    loop.push([loop]);
    expect(refusal(loop).path).toBe("payload[0][0]");
  });
});

test("nesting is allowed up to 100 levels and refused beyond, also when it would overflow the stack", () => {
  expect(JSON.parse(json(nested(100)))).toEqual(nested(100));
  expect(refusal(nested(101)).message).toMatch(/deeper than 100 levels/);
  expect(refusal(nested(200_000)).message).toMatch(/deeper than 100 levels/);
});

test("the limit counts bytes of JSON, not characters, and an exact fit passes", () => {
  expect(toJson("payload", "é".repeat(4), 10)).toHaveLength(6);
  const tooLarge = (): string => toJson("payload", "é".repeat(5), 10);
  expect(tooLarge).toThrow(PayloadTooLargeError);
  expect(tooLarge).toThrow(/has 12 bytes as JSON, the limit is 10/);
  expect(() => toJson("headers", {}, 1)).toThrow(expect.objectContaining({ code: "LH_PAYLOAD_TOO_LARGE" }));
});

describe("plain values pass", () => {
  const passing: readonly (readonly [name: string, value: unknown, text: string])[] = [
    ["null", null, "null"],
    ["the empty text", "", '""'],
    ["an empty array", [], "[]"],
    ["minus zero, which is equal to zero", -0, "0"],
    ["the largest double", Number.MAX_VALUE, "1.7976931348623157e+308"],
    ["the smallest double", 5e-324, "5e-324"],
    ["a pair of surrogates", "\u{1f600}", '"\u{1f600}"'],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ["an object of another realm", runInNewContext("({ a: [1] })"), '{"a":[1]}'],
    ["optional properties left undefined", { a: 1, b: undefined }, '{"a":1}'],
    ["one object in two places", ((shared) => [shared, shared])({ a: 1 }), '[{"a":1},{"a":1}]'],
    ["a property named constructor", { constructor: 1 }, '{"constructor":1}'],
    ["a property named toJSON that is no function", { toJSON: 1 }, '{"toJSON":1}'],
  ];

  test.each(passing)("%s", (_name, value, text) => {
    expect(json(value)).toBe(text);
  });

  test("a property named __proto__ stays a property and pollutes nothing", () => {
    const value: unknown = JSON.parse(
      '{"__proto__": {"admin": true}, "constructor": {"prototype": {"admin": true}}}',
    );
    const back = JSON.parse(json(value)) as object;
    expect(Object.hasOwn(back, "__proto__")).toBe(true);
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });
});

test("every JSON value passes and comes back equal", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      expect(isDeepStrictEqual(JSON.parse(json(value)), withoutMinusZero(value))).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

test("a JSON value of any characters passes and comes back equal, or has a NUL and is refused", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      if (JSON.stringify(value).includes("\\u0000")) expect(refusal(value).message).toMatch(/NUL/);
      else expect(isDeepStrictEqual(JSON.parse(json(value)), withoutMinusZero(value))).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

test("whatever is given, the answer is JSON text that reads back or an error with a code", () => {
  const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true });
  fc.assert(
    fc.property(anything, (value) => {
      try {
        JSON.parse(json(value));
      } catch (error) {
        expect(error).toBeInstanceOf(LeaseholdError);
      }
    }),
    { numRuns: 1_000 },
  );
});

test("text is storable exactly when PostgreSQL can keep it: no NUL, no half of a pair", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0xffff })), (units) => {
      const text = String.fromCharCode(...units);
      const survives = Buffer.from(text, "utf8").toString("utf8") === text && !units.includes(0);
      expect(isStorableText(text)).toBe(survives);
      expect(isStorableText(storableText(text))).toBe(true);
    }),
  );
});

test("a text about a failure is cut to its limit, also through the middle of a pair", () => {
  const max = defaults.errorTextMax;
  expect(storableText("x".repeat(max + 1))).toBe("x".repeat(max));
  expect(storableText(`${"x".repeat(max - 1)}\u{1f600}`)).toBe(`${"x".repeat(max - 1)}\ufffd`);
  expect(storableText("a\u0000b\ud800c")).toBe("a\ufffdb\ufffdc");
});
