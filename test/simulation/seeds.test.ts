import { expect, test } from "vitest";
import { failureText } from "../../simulation/report.js";
import { simulate } from "../../simulation/simulate.js";
import { isLong } from "../support/length.js";
import { simulationEngine } from "../support/simulation-engine.js";

/** A fixed set; `npm run simulate` runs as many as one likes. */
const seeds = Array.from({ length: isLong ? 40 : 8 }, (_, n) => n + 1);
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
    if (result.violations.length > 0) failures.push(failureText(result, `--seed ${seed} --steps ${steps}`));
    if (seed <= twice)
      expect((await simulate(engine(), seed, { steps })).hash, `seed ${seed}, run again`).toBe(result.hash);
  }
  expect(failures.join("\n")).toBe("");
  expect(statements).toBeGreaterThan(seeds.length * steps);
});
