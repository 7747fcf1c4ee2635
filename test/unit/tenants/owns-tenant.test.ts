import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assign } from "../../../src/tenants/assign.js";
import { ownsTenant } from "../../../src/tenants.js";

const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`);
const workersOf = fc.uniqueArray(fc.string({ minLength: 1, unit: "grapheme-ascii" }), {
  minLength: 1,
  maxLength: 12,
});

test("exactly one of the workers given owns a tenant, in whatever order they are given", () => {
  fc.assert(
    fc.property(workersOf, fc.string({ minLength: 1, unit: "grapheme-ascii" }), (workers, tenant) => {
      const owners = workers.filter((worker) => ownsTenant(tenant, worker, workers));
      const reversed = [...workers].reverse().map((id) => ({ id }));
      expect(owners).toHaveLength(1);
      expect(ownsTenant(tenant, owners[0] ?? "", reversed)).toBe(true);
    }),
  );
});

test("when a worker leaves, only what it owned has another owner", () => {
  const workers = names("w", 8);
  const rest = workers.filter((worker) => worker !== "w3");
  for (const tenant of names("t", 500))
    for (const worker of rest)
      if (ownsTenant(tenant, worker, workers)) expect(ownsTenant(tenant, worker, rest)).toBe(true);
});

/** What supervisors do when a fleet starts. */
test("a fleet that starts shares its tenants out so, but for what the balance takes from those that own most", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 300 }), (workers, tenants) => {
      const members = names("worker-", workers).map((id) => ({ id, region: null, isSettled: false }));
      const hot = names("tenant-", tenants).map((tenant) => ({ tenant, region: null, owner: null }));
      const targets = assign(hot, members);
      const loads = new Map<string, number>();
      for (const owner of targets.values()) loads.set(owner, (loads.get(owner) ?? 0) + 1);
      for (const [tenant, owner] of targets) {
        if (ownsTenant(tenant, owner, members)) continue;
        const best = members.find(({ id }) => ownsTenant(tenant, id, members))?.id ?? "";
        // It goes to another only because its owner is full, or because somebody would have too few.
        const isFull = (loads.get(best) ?? 0) >= tenants / workers;
        const isNeeded = (loads.get(owner) ?? 0) <= Math.ceil(tenants / workers);
        expect(isFull || isNeeded).toBe(true);
      }
      const isAsOwned = [...targets].filter(([tenant, owner]) => ownsTenant(tenant, owner, members)).length;
      expect(isAsOwned).toBeGreaterThanOrEqual(Math.floor(tenants / 2));
    }),
    { numRuns: 60 },
  );
});

describe("refuses", () => {
  test.each([
    ["no tenant", () => ownsTenant("", "a", ["a"]), "LH_INVALID_KEY"],
    ["no worker", () => ownsTenant("t", "", ["a"]), "LH_INVALID_KEY"],
    ["no list", () => ownsTenant("t", "a", "a" as never), "LH_INVALID_OPTION"],
    ["a list of something else", () => ownsTenant("t", "a", [7] as never), "LH_INVALID_KEY"],
  ])("%s", (_, ask, code) => {
    expect(ask).toThrow(expect.objectContaining({ code }));
  });

  test("nothing else: nobody owns a tenant where nobody is", () => {
    expect(ownsTenant("t", "a", [])).toBe(false);
  });
});
