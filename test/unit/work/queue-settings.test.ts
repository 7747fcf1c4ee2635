import { describe, expect, test } from "vitest";
import { QueueMismatchError } from "../../../src/errors.js";
import { defaults, flag, oneOf, wholeNumber } from "../../../src/settings.js";
import type { QueueOptions } from "../../../src/work/queue-options.js";
import { agreed, qualified } from "../../../src/work/queue-settings.js";

const make = (options: QueueOptions) => qualified("inbox", "leasehold", options);
const refused = (option: string) => expect.objectContaining({ code: "LH_INVALID_OPTION", option });

test("a queue without options has the defaults and can't be changed", () => {
  expect(make({})).toEqual({
    name: "inbox",
    schema: "leasehold",
    order: "key",
    strict: false,
    onDeadLetter: "continue",
    buckets: 360,
    ring: "rendezvous",
    vnodes: 128,
    preferRegions: [],
    excludeRegions: [],
    retentionMs: 604_800_000,
    deadLetterRetentionMs: 2_592_000_000,
    dedupeWindowMs: 604_800_000,
    maxAttempts: 12,
    maxCrashes: 5,
    kinds: {},
    payloadLimitBytes: 65_536,
  });
  expect(Object.isFrozen(make({}))).toBe(true);
});

describe("an option outside of its range is refused by name", () => {
  const ranges: readonly (readonly [option: keyof QueueOptions, min: number, max: number])[] = [
    ["buckets", 1, 1_024],
    ["vnodes", 1, 4_096],
    ["retentionMs", 0, 315_360_000_000],
    ["dedupeWindowMs", 1_000, 315_360_000_000],
    ["payloadLimitBytes", 2, 16_777_216],
    ["maxAttempts", 1, 1_000],
    ["maxCrashes", 1, 1_000],
  ];

  test.each(ranges)("%s from %d to %d", (option, min, max) => {
    expect(make({ [option]: min })).toMatchObject({ [option]: min });
    expect(make({ [option]: max })).toMatchObject({ [option]: max });
    for (const value of [min - 1, max + 1, min + 0.5, Number.NaN, Number.POSITIVE_INFINITY, `${min}`, null]) {
      expect(() => make({ [option]: value })).toThrow(refused(option));
    }
  });

  test.each(["order", "onDeadLetter", "ring"] as const)("%s is one of its words", (option) => {
    for (const value of ["", "KEY", "other", null, 1, {}]) {
      expect(() => make({ [option]: value })).toThrow(refused(option));
    }
  });

  test("strict is true or false", () => {
    for (const strict of [0, 1, "true", null]) {
      expect(() => make({ strict } as unknown as QueueOptions)).toThrow(refused("strict"));
    }
  });
});

test("policies of kinds are checked by kind and name", () => {
  const wrong: readonly [option: string, kinds: unknown][] = [
    ["kinds", null],
    ["kinds", []],
    ["kinds", 5],
    ["kinds", Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`k${n}`, {}]))],
    ['kinds["k"]', { k: 5 }],
    ['kinds["k"]', { k: null }],
    ["maxAttempts of k", { k: { maxAttempts: 0 } }],
    ["maxCrashes of k", { k: { maxCrashes: 1_001 } }],
    ["maxCrash", { k: { maxCrash: 1 } }],
  ];
  for (const [option, kinds] of wrong)
    expect(() => make({ kinds } as unknown as QueueOptions)).toThrow(refused(option));
  for (const kind of ["", "x".repeat(257), "a\u0000"])
    expect(() => make({ kinds: { [kind]: {} } })).toThrow(
      expect.objectContaining({ code: "LH_INVALID_KEY" }),
    );
  const { kinds } = make({ kinds: { b: { maxAttempts: 3 }, a: { maxCrashes: 2 } } });
  expect(JSON.stringify(kinds)).toBe('{"a":{"maxCrashes":2},"b":{"maxAttempts":3}}');
});

test("order none has neither a strict order nor keys to park", () => {
  expect(() => make({ order: "none", strict: true })).toThrow(refused("strict"));
  expect(() => make({ order: "none", onDeadLetter: "park" })).toThrow(refused("onDeadLetter"));
  expect(make({ order: "none", strict: false, onDeadLetter: "continue" })).toMatchObject({ order: "none" });
});

describe("a stored queue", () => {
  const { payloadLimitBytes: _limit, ...stored } = make({
    buckets: 12,
    ring: "consistent",
    kinds: { b: { maxCrashes: 1, maxAttempts: 2 }, a: {} },
  });

  test("is taken as it is where nothing else is asked for", () => {
    expect(agreed(stored, {})).toEqual({
      settings: { ...stored, payloadLimitBytes: 65_536 },
      differences: [],
    });
  });

  test("agrees with its own settings, and takes the limit of this process", () => {
    const kinds = { a: {}, b: { maxAttempts: 2, maxCrashes: 1 } };
    const options: QueueOptions = {
      order: "key",
      buckets: 12,
      payloadLimitBytes: 100,
      maxAttempts: 12,
      kinds,
    };
    expect(agreed(stored, options)).toMatchObject({
      settings: { buckets: 12, payloadLimitBytes: 100, maxAttempts: 12, kinds },
      differences: [],
    });
  });

  test("refuses every fixed option that disagrees, with both values", () => {
    const options: QueueOptions = { order: "none", buckets: 360, ring: "rendezvous", retentionMs: 0 };
    expect(() => agreed(stored, options)).toThrow(QueueMismatchError);
    expect(() => agreed(stored, options)).toThrow(
      /order is "key", you asked for "none"; buckets is 12, you asked for 360; ring .*; retentionMs is 604800000, you asked for 0/,
    );
  });

  test("counts where an option that can be changed disagrees, and both values are named", () => {
    const options: QueueOptions = { retentionMs: 1_000, maxAttempts: 5, maxCrashes: 5, kinds: {} };
    expect(agreed(stored, options)).toEqual({
      settings: { ...stored, payloadLimitBytes: 65_536 },
      differences: [
        { option: "retentionMs", given: 1_000, stored: 604_800_000 },
        { option: "maxAttempts", given: 5, stored: 12 },
        { option: "kinds", given: {}, stored: stored.kinds },
      ],
    });
  });
});

test("the readers of options take the fallback for what is left out, and nothing of another type", () => {
  const range = { fallback: 3, min: 1, max: 5 };
  expect(wholeNumber("n", undefined, range)).toBe(3);
  expect(wholeNumber("n", 5, range)).toBe(5);
  expect(() => wholeNumber("n", 6, range)).toThrow(
    "The option n is 6; it must be a whole number from 1 to 5.",
  );
  expect(() => wholeNumber("n", 2 ** 53, { ...range, max: Number.MAX_VALUE })).toThrow(refused("n"));
  expect(oneOf("w", undefined, ["a", "b"], "b")).toBe("b");
  expect(() => oneOf<string>("w", "c", ["a", "b"], "b")).toThrow(
    'The option w is "c"; it must be one of a, b.',
  );
  expect(flag("f", undefined, true)).toBe(true);
  expect(flag("f", false, true)).toBe(false);
});

test("every default lies within the limits that stand beside it, and none can be changed", () => {
  expect(Object.isFrozen(defaults)).toBe(true);
  expect(defaults.buckets).toBeLessThanOrEqual(defaults.bucketsMax);
  expect(defaults.maxAttempts).toBeLessThanOrEqual(defaults.maxAttemptsMax);
  expect(defaults.claimLimit).toBeLessThanOrEqual(defaults.claimLimitMax);
  expect(defaults.listLimit).toBeLessThanOrEqual(defaults.listLimitMax);
  expect(defaults.payloadWarningBytes).toBeLessThan(defaults.payloadLimitBytes);
  expect(defaults.payloadLimitBytes).toBeLessThan(defaults.enqueueBatchBytesMax);
});
