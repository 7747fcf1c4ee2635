import { expect, test } from "vitest";
import { failureText } from "../../simulation/report.js";
import { simulate } from "../../simulation/simulate.js";
import { isLong } from "../support/length.js";
import { simulationEngine } from "../support/simulation-engine.js";

/** A fixed set; `npm run simulate` runs as many as one likes. */
const firstSeeds = Array.from({ length: isLong ? 40 : 8 }, (_, n) => n + 1);
/** The first: a session that broke on the server's side only. The others: the first beat after an outage came later than the first claim, and too late. */
const foundSeeds = [7_000_299, 55_000_696, 55_000_798];
/** One of each kind of queue; in three of them the clock is set. */
const edgeSeeds = [7, 8, 9, 10, 11, 12];
const seeds = [...firstSeeds, ...foundSeeds];
const twice = isLong ? 20 : 3;
const steps = 300;

const engine = simulationEngine();

test(`${seeds.length} seeds break no promise, and ${twice} of them run twice leave the same trace`, {
  timeout: 300_000,
}, async () => {
  const failures: string[] = [];
  let statements = 0;
  for (const seed of seeds) {
    const result = await simulate(engine(), seed, { steps });
    statements += result.statements;
    expect(result.statements).toBeGreaterThanOrEqual(steps);
    if (result.violations.length > 0)
      failures.push(failureText(result, `leasehold simulate --seed ${seed} --steps ${steps}`));
    if (seed <= twice)
      expect((await simulate(engine(), seed, { steps })).hash, `seed ${seed}, run again`).toBe(result.hash);
  }
  expect(failures.join("\n")).toBe("");
  expect(statements).toBeGreaterThan(seeds.length * steps);
});

test("workers that are half ill break no promise: their claims, settles or renewals fail while all else works", {
  timeout: 300_000,
}, async () => {
  const failures: string[] = [];
  let faults = 0;
  for (const seed of firstSeeds.slice(0, isLong ? 20 : 4)) {
    const result = await simulate(engine(), seed, { steps, isGrey: true });
    faults += result.faults - (await simulate(engine(), seed, { steps })).faults;
    if (result.violations.length > 0)
      failures.push(failureText(result, `leasehold simulate --grey --seed ${seed} --steps ${steps}`));
  }
  expect(failures.join("\n")).toBe("");
  expect(faults).not.toBe(0);
});

test("late commits, claims by hand, bulk actions and a server clock that is set break no promise", {
  timeout: 300_000,
}, async () => {
  const failures: string[] = [];
  const seen = new Set<string>();
  for (const seed of edgeSeeds) {
    const result = await simulate(engine(), seed, { steps, hasEdges: true });
    for (const [, what = ""] of result.trace
      .join("\n")
      .matchAll(/(late#1 +commit|hand#\d+ +started|clock set: hit)/g))
      seen.add(what.replace(/[# \d]+/, " "));
    if (result.violations.length > 0)
      failures.push(failureText(result, `leasehold simulate --edges --seed ${seed} --steps ${steps}`));
  }
  expect(failures.join("\n")).toBe("");
  expect([...seen].sort()).toEqual(["clock set: hit", "hand started", "late commit"]);
});
