import { expect, test } from "vitest";
import type { Entry, EntryOf } from "../../../simulation/entries.js";
import { shareAfterJoin } from "../../../simulation/tenants/checkers/share-after-join.js";

const tenants = Array.from({ length: 20 }, (_, n) => `t${n}`);
const settings = { tenants, ttlMs: 1_000, tickMs: 500, soonMs: 300, lateMs: 2_000, shareMs: 1_000 };
const joinsAtMs = 10_000;

/** Two processes have worked for long when a third joins and gets so many tenants, at the time given; `also` happens in between. */
function objections(
  gets: { readonly count: number; readonly afterMs: number },
  also: Omit<EntryOf<"fault">, "is"> | null = null,
): number {
  const began = (tenant: string, process: string, atMs: number): Entry => {
    const run = { tenant, process, token: BigInt(atMs), reason: null, isStuck: false };
    return { is: "tenant", what: "began", atMs, ...run };
  };
  const entries: Entry[] = [
    { is: "joined", process: "a#1", atMs: 0 },
    { is: "joined", process: "b#1", atMs: 0 },
    { is: "joined", process: "c#1", atMs: joinsAtMs },
    ...tenants.slice(0, gets.count).map((tenant) => began(tenant, "c#1", joinsAtMs + gets.afterMs)),
    began("another", "a#1", joinsAtMs + 5_000),
  ];
  if (also !== null) entries.push({ is: "fault", ...also });
  entries.sort((one, other) => one.atMs - other.atMs);
  return shareAfterJoin({ entries, settings }).length;
}

test("a worker that joins has its share in time", () => {
  expect(objections({ count: 6, afterMs: 900 })).toBe(0);
  expect(objections({ count: 6, afterMs: 1_100 })).toBe(1);
  expect(objections({ count: 3, afterMs: 900 })).toBe(1);
});

test("nothing is asked when something else happens meanwhile, or when the worker was lost before", () => {
  const hit = { process: "a#1", what: "frozen", state: "hit" } as const;
  expect(objections({ count: 0, afterMs: 900 }, { ...hit, atMs: joinsAtMs + 500 })).toBe(0);
  expect(objections({ count: 0, afterMs: 900 }, { ...hit, atMs: joinsAtMs - 500 })).toBe(0);
  const killed = { process: "c#0", what: "killed", state: "gone" } as const;
  expect(objections({ count: 0, afterMs: 900 }, { ...killed, atMs: joinsAtMs - 500 })).toBe(0);
});
