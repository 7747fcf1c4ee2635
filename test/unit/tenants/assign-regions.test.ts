import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { itemHalves, pairScore, workerHalves } from "../../../src/membership/scores.js";
import { type AssignedTenant, assign, coldOwner, type TenantMember } from "../../../src/tenants/assign.js";
import { loadsOf, member, membersNamed, movesOf, owned, tenantsNamed } from "./fleet.js";

/** Regions that have workers and regions that have none, settled members and new ones, owners of every sort. */
const mixed = fc.uniqueArray(fc.string({ maxLength: 4 }), { minLength: 1, maxLength: 7 }).chain((ids) => {
  const region = fc.constantFrom("eu", "us", null);
  const members = ids.map((id) => fc.record({ id: fc.constant(id), region, isSettled: fc.boolean() }));
  const tenant = fc.record({
    tenant: fc.string({ maxLength: 6 }),
    region: fc.constantFrom("eu", "us", "mars", null),
    owner: fc.option(fc.constantFrom(...ids, "gone")),
  });
  return fc.record({
    members: fc.tuple(...members),
    tenants: fc.uniqueArray(tenant, { selector: (one) => one.tenant, maxLength: 50 }),
  });
});

function expectWithin(loads: readonly number[], share: number): void {
  const level = loads.reduce((sum, load) => sum + load, 0) / loads.length;
  expect(Math.max(...loads)).toBeLessThanOrEqual(Math.ceil(level * (1 + share)));
  expect(Math.min(...loads)).toBeGreaterThanOrEqual(Math.floor(level * (1 - share)));
}

/** How many tenants of this name each of these members has. */
function loadsWith(
  targets: ReadonlyMap<string, string>,
  prefix: string,
  members: readonly TenantMember[],
): number[] {
  const some = new Map([...targets].filter(([tenant]) => tenant.startsWith(prefix)));
  return loadsOf(some, members);
}

const eu = membersNamed("eu-worker", 3, "eu");
const us = membersNamed("us-worker", 5, "us");

describe("regions", () => {
  test("keep their tenants on their own workers, and both are even", () => {
    const tenants = [...tenantsNamed("eu:", 300, "eu"), ...tenantsNamed("us:", 300, "us")];
    const targets = assign(tenants, [...eu, ...us]);
    expect(targets.size).toBe(600);
    for (const [tenant, owner] of targets) expect(owner.slice(0, 2)).toBe(tenant.slice(0, 2));
    expectWithin(loadsWith(targets, "eu:", eu), 0.05);
    expectWithin(loadsWith(targets, "us:", us), 0.05);
  });

  test("fall back to everybody when nobody lives there, evenly, and go home when somebody does", () => {
    const tenants = [...tenantsNamed("eu:", 200, "eu"), ...tenantsNamed("us:", 200, "us")];
    const away = assign(tenants, us);
    expect(away.size).toBe(400);
    expectWithin(loadsOf(away, us), 0.05);
    const home = assign(owned(tenants, away), [...us, ...eu]);
    for (const [tenant, owner] of home) expect(owner.slice(0, 2)).toBe(tenant.slice(0, 2));
    const usTenants = owned(tenants, away).filter(({ region }) => region === "us");
    expect(movesOf(usTenants, home)).toBeLessThanOrEqual(10);
  });

  test("take what has no preference in account: it evens out what they have of their own", () => {
    const tenants = [...tenantsNamed("eu:", 30, "eu"), ...tenantsNamed("any:", 170)];
    const members = [...membersNamed("eu-worker", 1, "eu"), ...membersNamed("us-worker", 4, "us")];
    const targets = assign(tenants, members);
    expectWithin(loadsOf(targets, members), 0.05);
    const crowded = assign([...tenantsNamed("eu:", 300, "eu"), ...tenantsNamed("any:", 40)], members);
    const [atHome, ...others] = loadsWith(crowded, "any:", members);
    expect(atHome).toBe(0);
    expectWithin(others, 0.05);
  });

  test("give a tenant in a region of its own everything that any state allows, and keep it when asked again", () => {
    fc.assert(
      fc.property(mixed, ({ tenants, members }) => {
        const targets = assign(tenants, members);
        expect(targets.size).toBe(tenants.length);
        const regionOf = new Map(members.map(({ id, region }) => [id, region]));
        for (const { tenant, region } of tenants) {
          const owner = targets.get(tenant)!;
          expect(regionOf.has(owner)).toBe(true);
          const isHomely = region !== null && members.some((one) => one.region === region);
          if (isHomely) expect(regionOf.get(owner)).toBe(region);
        }
        expect(assign(owned(tenants, targets), members)).toEqual(targets);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("who has just come", () => {
  test("gets nothing while somebody is settled, and then its share", () => {
    const tenants = owned(tenantsNamed("t", 100), assign(tenantsNamed("t", 100), membersNamed("w", 2)));
    const fresh = member("fresh", { isSettled: false });
    expect(movesOf(tenants, assign(tenants, [...membersNamed("w", 2), fresh]))).toBe(0);
    const free = tenants.map((one) => ({ ...one, owner: null }));
    expect([...assign(free, [...membersNamed("w", 2), fresh]).values()]).not.toContain("fresh");
    const after = assign(tenants, [...membersNamed("w", 2), member("fresh")]);
    expect([...after.values()].filter((owner) => owner === "fresh").length).toBeGreaterThanOrEqual(31);
  });

  test("keeps what it has, also what it was named to get", () => {
    const tenants: AssignedTenant[] = tenantsNamed("t", 40).map((one, i) => ({
      ...one,
      owner: i < 30 ? "fresh" : "w0",
    }));
    const targets = assign(tenants, [member("w0"), member("fresh", { isSettled: false })]);
    expect(movesOf(tenants, targets)).toBe(0);
  });

  test("counts while nobody is settled, as when a fleet starts", () => {
    const members = membersNamed("w", 4).map((one) => ({ ...one, isSettled: false }));
    expectWithin(loadsOf(assign(tenantsNamed("t", 200), members), members), 0.05);
  });

  test("in a region where everybody is new runs its tenants, though others elsewhere are settled", () => {
    const fresh = member("fresh", { region: "eu", isSettled: false });
    const targets = assign(tenantsNamed("t", 10, "eu"), [...us, fresh]);
    expect(new Set(targets.values())).toEqual(new Set(["fresh"]));
  });

  test("never takes anything from who is settled, in any state", () => {
    fc.assert(
      fc.property(mixed, ({ tenants, members }) => {
        const anywhere = tenants.map((one) => ({ ...one, region: null }));
        const targets = assign(anywhere, members);
        const settled = new Set(members.filter(({ isSettled }) => isSettled).map(({ id }) => id));
        if (settled.size === 0) return;
        for (const { tenant, owner } of anywhere)
          if (!settled.has(targets.get(tenant)!)) expect(targets.get(tenant)).toBe(owner);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the owner of a cold tenant", () => {
  const score = (tenant: string, id: string) => pairScore(itemHalves(tenant), workerHalves(id));
  const bestOf = (tenant: string, ids: readonly string[]) =>
    [...ids].sort((one, other) => score(tenant, other) - score(tenant, one))[0];

  test("is the highest score, whatever anybody runs", () => {
    const members = membersNamed("w", 5);
    for (let i = 0; i < 50; i++) {
      const cold = { tenant: `cold${i}`, region: null };
      const best = bestOf(cold.tenant, ["w0", "w1", "w2", "w3", "w4"])!;
      expect(coldOwner(cold, members)).toBe(best);
    }
  });

  test("lives in its region while anybody does there, and anywhere otherwise", () => {
    for (let i = 0; i < 50; i++) {
      const cold = { tenant: `cold${i}`, region: "eu" };
      expect(coldOwner(cold, [...us, ...eu])).toMatch(/^eu-/);
      expect(coldOwner(cold, us)).toMatch(/^us-/);
    }
  });

  test("is settled if anybody is, and nobody without members", () => {
    const fresh = membersNamed("fresh", 9).map((one) => ({ ...one, isSettled: false }));
    expect(coldOwner({ tenant: "x", region: null }, [...fresh, member("old")])).toBe("old");
    expect(coldOwner({ tenant: "x", region: null }, fresh)).toMatch(/^fresh/);
    expect(coldOwner({ tenant: "x", region: null }, [])).toBeNull();
  });

  test("always exists when there are members, and does not depend on their order", () => {
    fc.assert(
      fc.property(mixed, fc.string(), ({ members }, tenant) => {
        const owner = coldOwner({ tenant, region: "eu" }, members);
        expect(members.map(({ id }) => id)).toContain(owner);
        expect(coldOwner({ tenant, region: "eu" }, [...members].reverse())).toBe(owner);
      }),
    );
  });
});

test("nothing moves because one that has its share is not settled for a while", () => {
  const shares = [
    ["w1", 6],
    ["w2", 6],
    ["w3", 4],
    ["w4", 6],
    ["n1", 4],
  ] as const;
  const tenants = shares.flatMap(([owner, count]) =>
    Array.from({ length: count }, (_, n) => ({ tenant: `${owner}-${n}`, region: null, owner })),
  );
  const members = shares.map(([id]) => member(id, { isSettled: id !== "n1" }));
  const targets = assign(tenants, members);
  expect(tenants.filter(({ tenant, owner }) => targets.get(tenant) !== owner)).toEqual([]);
});
