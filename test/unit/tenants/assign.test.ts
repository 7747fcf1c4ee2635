import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AssignedTenant, assign, type TenantMember } from "../../../src/tenants/assign.js";
import { cpuGrowth } from "../../support/cpu-growth.js";
import { loadsOf, member, membersNamed, movesOf, owned, tenantsNamed } from "./fleet.js";

const seeds = [0, 1, 2, 3, 4];

/** A fleet in any state: owners that are members, were members, or are nobody. */
const fleets = fc
  .record({
    workers: fc.uniqueArray(fc.string({ maxLength: 6 }), { minLength: 1, maxLength: 8 }),
    names: fc.uniqueArray(fc.string({ maxLength: 6 }), { maxLength: 60 }),
  })
  .chain(({ workers, names }) => {
    const owner = fc.option(fc.constantFrom(...workers, "gone"));
    return fc.record({
      members: fc.constant(workers.map((id) => member(id))),
      tenants: fc.tuple(
        ...names.map((tenant) => owner.map((id): AssignedTenant => ({ tenant, region: null, owner: id }))),
      ),
    });
  });

/** True for each load that is as near to an even share as whole numbers and a twentieth allow. */
function expectEven(targets: ReadonlyMap<string, string>, members: readonly TenantMember[]): void {
  const level = targets.size / members.length;
  const loads = loadsOf(targets, members);
  const slack = Math.min(1.3, 0.3 * level);
  const most = Math.max(Math.ceil(level * 1.05 - 1e-9), Math.floor(level + slack + 1e-9));
  const least = Math.min(Math.floor(level * 0.95 + 1e-9), Math.ceil(level - slack - 1e-9));
  expect(Math.max(...loads)).toBeLessThanOrEqual(most);
  expect(Math.min(...loads)).toBeGreaterThanOrEqual(least);
}

describe("the shares", () => {
  test.each([
    { tenants: 1_000, workers: 10, within: 0.1 },
    { tenants: 100, workers: 10, within: 0.3 },
    { tenants: 1_000, workers: 2, within: 0.1 },
    { tenants: 100, workers: 2, within: 0.1 },
  ])(
    "of $tenants tenants on $workers workers are within $within of even, whatever they are called",
    ({ tenants, workers, within }) => {
      for (const seed of seeds) {
        const members = membersNamed(`worker${seed}-`, workers);
        const loads = loadsOf(assign(tenantsNamed(`tenant${seed}:`, tenants), members), members);
        const even = tenants / workers;
        expect(Math.max(...loads)).toBeLessThanOrEqual(even * (1 + within));
        expect(Math.min(...loads)).toBeGreaterThanOrEqual(even * (1 - within));
      }
    },
  );

  test("are within a twentieth of even, as whole numbers allow, from whatever state", () => {
    fc.assert(
      fc.property(fleets, ({ tenants, members }) => {
        const targets = assign(tenants, members);
        expect(targets.size).toBe(tenants.length);
        expectEven(targets, members);
      }),
      { numRuns: 500 },
    );
  });

  test("stay so through any sequence of joins and leaves, and every tenant has an owner that lives", () => {
    const sequences = fc.record({
      count: fc.integer({ min: 1, max: 150 }),
      steps: fc.array(fc.record({ isJoin: fc.boolean(), pick: fc.nat(99) }), { maxLength: 25 }),
    });
    fc.assert(
      fc.property(sequences, ({ count, steps }) => {
        let tenants = tenantsNamed("t", count);
        let members = membersNamed("w", 2);
        for (const [index, { isJoin, pick }] of steps.entries()) {
          if (isJoin) members = [...members, member(`joiner${index}`)];
          else if (members.length > 1) members = members.filter((_, at) => at !== pick % members.length);
          const targets = assign(tenants, members);
          expect(targets.size).toBe(count);
          expectEven(targets, members);
          tenants = owned(tenants, targets);
        }
      }),
    );
  });

  test("are nobody's without members, and nothing without tenants", () => {
    expect(assign(tenantsNamed("t", 3), []).size).toBe(0);
    expect(assign([], membersNamed("w", 3)).size).toBe(0);
  });

  test("of one tenant on many workers is one worker's, the same on every call", () => {
    const targets = assign(tenantsNamed("only", 1), membersNamed("w", 20));
    expect([...targets.keys()]).toEqual(["only0"]);
    expect(assign(tenantsNamed("only", 1), membersNamed("w", 20))).toEqual(targets);
  });
});

describe("what moves", () => {
  const sizes = Array.from({ length: 19 }, (_, i) => i + 2);

  const cases = [
    { count: 1_000, workers: sizes },
    { count: 500, workers: sizes },
    { count: 100, workers: sizes },
  ];

  test.each(cases)(
    "of $count tenants when one joins is at most 1.4 shares, and goes to the joiner mostly",
    ({ count, workers }) => {
      for (const size of workers) {
        const members = membersNamed("worker-", size + 1);
        const tenants = owned(
          tenantsNamed("tenant:", count),
          assign(tenantsNamed("tenant:", count), members.slice(0, size)),
        );
        const targets = assign(tenants, members);
        const moves = movesOf(tenants, targets);
        const joined = [...targets.values()].filter((owner) => owner === `worker-${size}`).length;
        expect(moves).toBeLessThanOrEqual((1.4 * count) / size);
        const even = count / (size + 1);
        expect(joined).toBeGreaterThanOrEqual(Math.min(Math.floor(even * 0.95), Math.ceil(even - 1.3)));
        expect(moves).toBeGreaterThanOrEqual(joined);
      }
    },
  );

  test.each(cases)(
    "of $count tenants when one leaves is at most 1.4 shares, its own included",
    ({ count, workers }) => {
      for (const size of workers) {
        const members = membersNamed("worker-", size);
        const tenants = owned(
          tenantsNamed("tenant:", count),
          assign(tenantsNamed("tenant:", count), members),
        );
        const leaver = members[size >> 1]!.id;
        const targets = assign(
          tenants,
          members.filter(({ id }) => id !== leaver),
        );
        expect([...targets.values()]).not.toContain(leaver);
        expect(movesOf(tenants, targets)).toBeLessThanOrEqual((1.4 * count) / size);
      }
    },
  );

  test("stays at most 1.4 shares after a long history of joins and leaves", () => {
    let tenants = tenantsNamed("t", 300);
    let members = membersNamed("w", 2);
    tenants = owned(tenants, assign(tenants, members));
    for (let step = 0; step < 60; step++) {
      const size = members.length;
      const isJoin = size <= 2 || (size < 20 && (step * 7) % 5 < 3);
      if (isJoin) members = [...members, member(`joiner${step}`)];
      else members = members.filter((_, at) => at !== (step * 13) % size);
      const targets = assign(tenants, members);
      expect(movesOf(tenants, targets)).toBeLessThanOrEqual((1.4 * tenants.length) / size);
      tenants = owned(tenants, targets);
    }
  });

  test("is nothing when nothing changed", () => {
    fc.assert(
      fc.property(fleets, ({ tenants, members }) => {
        const targets = assign(tenants, members);
        expect(assign(owned(tenants, targets), members)).toEqual(targets);
      }),
      { numRuns: 500 },
    );
  });

  test("is nothing while every load is within a twentieth of even, though the scores would have it otherwise", () => {
    const members = membersNamed("w", 4);
    const ownerOf = (index: number): string => (index < 4 ? "w1" : `w${index % 4}`);
    const tenants = tenantsNamed("t", 400).map((one, index) => ({ ...one, owner: ownerOf(index) }));
    expect(movesOf(tenants, assign(tenants, members))).toBe(0);
  });

  test("is what one too many has, and no more", () => {
    const members = membersNamed("w", 4);
    const ownerOf = (index: number): string => (index < 12 ? "w1" : `w${index % 4}`);
    const tenants = tenantsNamed("t", 400).map((one, index) => ({ ...one, owner: ownerOf(index) }));
    const targets = assign(tenants, members);
    expect(movesOf(tenants, targets)).toBe(4);
    expect(tenants.filter(({ tenant, owner }) => owner !== "w1" && targets.get(tenant) !== owner)).toEqual(
      [],
    );
  });

  test("when one of ten leaves is only what it had", () => {
    const members = membersNamed("w", 10);
    const tenants = owned(tenantsNamed("t", 1_000), assign(tenantsNamed("t", 1_000), members));
    const targets = assign(
      tenants,
      members.filter(({ id }) => id !== "w3"),
    );
    const left = tenants.filter(({ owner }) => owner !== "w3");
    expect(movesOf(left, targets)).toBe(0);
  });

  test("at a failover goes to many of those that are left, not to one", () => {
    const members = membersNamed("w", 10);
    const tenants = owned(tenantsNamed("t", 1_000), assign(tenantsNamed("t", 1_000), members));
    const targets = assign(tenants, members.slice(1));
    const heirs = new Set(
      tenants.filter(({ owner }) => owner === "w0").map(({ tenant }) => targets.get(tenant)),
    );
    expect(heirs.size).toBe(9);
  });
});

describe("an assignment", () => {
  test("does not depend on the order of tenants and members", () => {
    const shuffled = fleets.chain(({ tenants, members }) =>
      fc.record({
        given: fc.constant({ tenants, members }),
        tenants: fc.shuffledSubarray(tenants, { minLength: tenants.length }),
        members: fc.shuffledSubarray(members, { minLength: members.length }),
      }),
    );
    fc.assert(
      fc.property(shuffled, ({ given, tenants, members }) => {
        const byName = (map: ReadonlyMap<string, string>) => [...map].sort();
        expect(byName(assign(tenants, members))).toEqual(byName(assign(given.tenants, given.members)));
      }),
      { numRuns: 300 },
    );
  });

  test("changes nothing that it is given", () => {
    const tenants = Object.freeze(tenantsNamed("t", 20).map((one) => Object.freeze(one)));
    const members = Object.freeze(membersNamed("w", 3).map((one) => Object.freeze(one)));
    expect(assign(tenants, members).size).toBe(20);
  });

  test.each(["at first", "when one leaves", "when nothing changes"])(
    "takes ten times as long for ten times as many tenants, not a hundred times, %s",
    (when) => {
      const members = membersNamed("worker-", 50);
      const assigning = (count: number) => {
        const all = tenantsNamed("tenant:", count);
        const tenants = when === "at first" ? all : owned(all, assign(all, members));
        const left = when === "when one leaves" ? members.slice(1) : members;
        return () => assign(tenants, left);
      };
      expect(cpuGrowth(assigning(1_000), assigning(10_000))).toBeLessThan(40);
    },
  );
});
