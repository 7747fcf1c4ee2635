import { describe, expect, test } from "vitest";
import { InvalidKeyError, InvalidOptionError } from "../../../src/errors.js";
import { Policy, type PolicyOptions, type TenantActivity } from "../../../src/tenants/policy.js";

/** A policy whose measurements a test sets. */
function measured(more: Partial<PolicyOptions>): { policy: Policy; set(...now: TenantActivity[]): void } {
  let current: TenantActivity[] = [];
  const policy = new Policy({ measure: () => current, ...more });
  return {
    policy,
    set: (...now) => {
      current = now;
    },
  };
}

describe("what is hot", () => {
  test("is what reaches a threshold, of depth or of rate, and nothing below", async () => {
    const { policy, set } = measured({ depthMin: 10, rateMin: 2.5 });
    set(
      { tenant: "deep", depth: 10 },
      { tenant: "fast", rate: 2.5 },
      { tenant: "neither", depth: 9.9, rate: 2.4 },
      { tenant: "silent" },
    );
    expect(await policy.look(0)).toEqual(
      new Map([
        ["deep", null],
        ["fast", null],
      ]),
    );
  });

  test("counts only what has a threshold", async () => {
    const { policy, set } = measured({ rateMin: 1 });
    set({ tenant: "deep", depth: 1e9 }, { tenant: "fast", rate: 1 });
    expect([...(await policy.look(0)).keys()]).toEqual(["fast"]);
  });

  test("is what several measurements of a tenant add up to, in the region that any of them names", async () => {
    const { policy, set } = measured({ depthMin: 10 });
    set(
      { tenant: "x", depth: 4, preferredRegion: "eu" },
      { tenant: "y", depth: 9 },
      { tenant: "x", depth: 6 },
    );
    expect(await policy.look(0)).toEqual(new Map([["x", "eu"]]));
  });

  test("is measured anew each time, also by a promise", async () => {
    let depth = 10;
    const policy = new Policy({ measure: async () => new Set([{ tenant: "x", depth }]), depthMin: 10 });
    expect((await policy.look(0)).size).toBe(1);
    depth = 9;
    expect((await policy.look(1)).size).toBe(0);
  });
});

describe("what is idle", () => {
  test("has had neither depth nor rate for the idle time", async () => {
    const { policy, set } = measured({ depthMin: 10, idleMs: 100 });
    set({ tenant: "x", depth: 0.5 });
    await policy.look(50);
    expect(policy.isIdle("x", 0, 149)).toBe(false);
    expect(policy.isIdle("x", 0, 150)).toBe(true);
    set({ tenant: "x", rate: 0.1 });
    await policy.look(150);
    expect(policy.isIdle("x", 0, 249)).toBe(false);
    set({ tenant: "x", depth: 0, rate: 0 });
    await policy.look(249);
    expect(policy.isIdle("x", 0, 250)).toBe(true);
  });

  test("has run for at least the idle time, though nobody measures it", () => {
    const { policy } = measured({ depthMin: 10, idleMs: 100 });
    expect(policy.isIdle("promoted", 1_000, 1_099)).toBe(false);
    expect(policy.isIdle("promoted", 1_000, 1_100)).toBe(true);
  });

  test("stays idle when its last activity is long forgotten", async () => {
    const { policy, set } = measured({ depthMin: 10, idleMs: 100 });
    set({ tenant: "x", depth: 1 });
    await policy.look(0);
    set();
    await policy.look(1_000);
    expect(policy.isIdle("x", 0, 1_000)).toBe(true);
  });
});

describe("what makes no sense is refused", () => {
  test.each([
    ["no measure", { depthMin: 1 }],
    ["a measure that is no function", { measure: [], depthMin: 1 }],
    ["no threshold", { measure: () => [] }],
    ["a depth of 0", { measure: () => [], depthMin: 0 }],
    ["a depth below 0", { measure: () => [], depthMin: -1 }],
    ["a depth that is no number", { measure: () => [], depthMin: "10" }],
    ["a rate that is not a number", { measure: () => [], rateMin: Number.NaN }],
    ["an idle time below 0", { measure: () => [], rateMin: 1, idleMs: -1 }],
    ["an idle time in parts of a millisecond", { measure: () => [], rateMin: 1, idleMs: 0.5 }],
    ["no object", null],
    ["a list", []],
  ])("%s", (_, given) => {
    expect(() => new Policy(given as unknown as PolicyOptions)).toThrow(
      expect.objectContaining({ code: "LH_INVALID_OPTION" }),
    );
  });

  test.each([
    ["a depth below 0", { tenant: "x", depth: -1 }, InvalidOptionError],
    ["a rate that is not a number", { tenant: "x", rate: Number.NaN }, InvalidOptionError],
    ["a depth that is text", { tenant: "x", depth: "3" }, InvalidOptionError],
    ["a depth that is null", { tenant: "x", depth: null }, InvalidOptionError],
    ["an empty name", { tenant: "", depth: 1 }, InvalidKeyError],
    ["no name", { depth: 1 }, InvalidKeyError],
    ["an empty region", { tenant: "x", depth: 1, preferredRegion: "" }, InvalidOptionError],
  ])("as a measurement: %s", async (_, activity, expected) => {
    const { policy, set } = measured({ depthMin: 1 });
    set(activity as unknown as TenantActivity);
    await expect(policy.look(0)).rejects.toThrow(expected);
  });
});
