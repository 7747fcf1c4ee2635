import { expect, test } from "vitest";
import { failureText } from "../../simulation/report.js";
import { simulateTenants, tenantVariants } from "../../simulation/tenants/simulate.js";
import { isLong } from "../support/length.js";
import { simulationEngine } from "../support/simulation-engine.js";

/**
 * A fixed set, which `npm run simulate -- --tenants` can run for as long as one likes: many faults (1), no sessions (7), regions and starts that throw (8), a worker that restarts
 * over and over (14).
 */
const seeds = isLong ? Array.from({ length: 14 }, (_, n) => n + 1) : [1, 7, 8, 14];
const minutes = isLong ? 8 : 4;
const [twice] = seeds;

const engine = simulationEngine(tenantVariants);

test(`${seeds.length} fleets of tenant supervisors break no promise in ${minutes} minutes, and one that runs twice leaves the same trace`, {
  timeout: 300_000,
}, async () => {
  const failures: string[] = [];
  for (const seed of seeds) {
    const result = await simulateTenants(engine(), seed, { minutes });
    expect(result.starts, `seed ${seed}`).toBeGreaterThanOrEqual(result.jobs);
    if (result.violations.length > 0)
      failures.push(failureText(result, `leasehold simulate --tenants --seed ${seed} --minutes ${minutes}`));
    if (seed === twice) {
      const again = await simulateTenants(engine(), seed, { minutes });
      expect(again.hash, `seed ${seed}, run again`).toBe(result.hash);
    }
  }
  expect(failures.join("\n")).toBe("");
});
