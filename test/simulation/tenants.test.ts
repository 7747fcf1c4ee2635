import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { Engine } from "../../simulation/engine/engine.js";
import { failureText } from "../../simulation/report.js";
import { simulateTenants, tenantVariants } from "../../simulation/tenants/simulate.js";
import { isLong } from "../support/length.js";

/**
 * A fixed set, which `npm run simulate -- --tenants` can run for as long as one likes: many faults (1), no sessions (7), regions and starts that throw (8), a worker that restarts
 * over and over (14).
 */
const seeds = isLong ? Array.from({ length: 14 }, (_, n) => n + 1) : [1, 7, 8, 14];
const minutes = isLong ? 8 : 4;
const [twice] = seeds;

const database = `simulation_tenants_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
let engine: Engine;

async function onServer(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject("databaseUrl") });
  await client.connect();
  await client.query(text);
  await client.end();
}

beforeAll(async () => {
  await onServer(`create database ${database}`);
  const url = new URL(inject("databaseUrl"));
  url.pathname = `/${database}`;
  engine = await Engine.open(url.href, tenantVariants);
});

afterAll(async () => {
  await engine?.close();
  await onServer(`drop database if exists ${database} with (force)`);
});

test(`${seeds.length} fleets of tenant supervisors break no promise in ${minutes} minutes, and one that runs twice leaves the same trace`, {
  timeout: 300_000,
}, async () => {
  const failures: string[] = [];
  for (const seed of seeds) {
    const result = await simulateTenants(engine, seed, { minutes });
    expect(result.starts, `seed ${seed}`).toBeGreaterThanOrEqual(result.jobs);
    if (result.violations.length > 0)
      failures.push(failureText(result, `--tenants --seed ${seed} --minutes ${minutes}`));
    if (seed === twice) {
      const again = await simulateTenants(engine, seed, { minutes });
      expect(again.hash, `seed ${seed}, run again`).toBe(result.hash);
    }
  }
  expect(failures.join("\n")).toBe("");
});
