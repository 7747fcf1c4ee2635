import { expect, test } from "vitest";
import { buildRing, type RingSettings } from "../../../src/membership/ring.js";
import { type SkilledMember, secondOwners } from "../../../src/membership/second-owners.js";

const settings: RingSettings = {
  ring: "rendezvous",
  hash: "fnv1a-fmix32",
  vnodes: 128,
  preferRegions: [],
  excludeRegions: [],
};
const member = (id: string, kinds: readonly string[] | null): SkilledMember => ({ id, region: null, kinds });
const seconds = (members: readonly SkilledMember[]) =>
  secondOwners(buildRing(members, 360, settings), members, settings);

test("nobody is a second owner while all have the same kinds", () => {
  expect(seconds([member("a", ["x", "y"]), member("b", ["y", "x"]), member("c", null)]).size).toBe(0);
});

test("every bucket whose owner lacks a kind has one second owner that has it, evenly", () => {
  const members = [member("a", ["x"]), member("b", ["x"]), member("c", ["x", "y"]), member("d", ["x", "y"])];
  const ring = buildRing(members, 360, settings);
  const found = seconds(members);
  expect([...found.keys()].sort()).toEqual(["c", "d"]);
  const lacking = ring.owners.flatMap((owner, bucket) => (owner === "a" || owner === "b" ? [bucket] : []));
  const second = [...(found.get("c") ?? []), ...(found.get("d") ?? [])];
  expect(second.sort((l, r) => l - r)).toEqual(lacking);
  expect(found.get("c")?.size).toBeGreaterThan(lacking.length / 4);
});

test("workers with different kinds are second owners of each other's buckets", () => {
  const found = seconds([member("a", ["x"]), member("b", ["y"])]);
  expect((found.get("a")?.size ?? 0) + (found.get("b")?.size ?? 0)).toBe(360);
});
