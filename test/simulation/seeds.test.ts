import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { Engine } from "../../simulation/engine/engine.js";
import { failureText } from "../../simulation/report.js";
import { simulate } from "../../simulation/simulate.js";
import { isLong } from "../support/length.js";

/** A fixed set; `npm run simulate` runs as many as one likes. */
const seeds = Array.from({ length: isLong ? 40 : 8 }, (_, n) => n + 1);
const twice = isLong ? 20 : 3;
const steps = 300;

const database = `simulation_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
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
  engine = await Engine.open(url.href);
});

afterAll(async () => {
  await engine?.close();
  await onServer(`drop database if exists ${database} with (force)`);
});

test(`${seeds.length} seeds break no promise, and ${twice} of them run twice leave the same trace`, {
  timeout: 300_000,
}, async () => {
  const failures: string[] = [];
  let statements = 0;
  for (const seed of seeds) {
    const result = await simulate(engine, seed, { steps });
    statements += result.statements;
    expect(result.statements).toBeGreaterThanOrEqual(steps);
    if (result.violations.length > 0) failures.push(failureText(result, `--seed ${seed} --steps ${steps}`));
    if (seed <= twice)
      expect((await simulate(engine, seed, { steps })).hash, `seed ${seed}, run again`).toBe(result.hash);
  }
  expect(failures.join("\n")).toBe("");
  expect(statements).toBeGreaterThan(seeds.length * steps);
});
