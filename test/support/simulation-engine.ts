import pg from "pg";
import { afterAll, beforeAll, inject } from "vitest";
import { Engine } from "../../simulation/engine/engine.js";
import type { Variant } from "../../simulation/engine/variants.js";

async function onServer(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject("databaseUrl") });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** An engine on a database of its own for the tests of one file. */
export function simulationEngine(kinds?: readonly Variant[]): () => Engine {
  const database = `simulation_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
  let engine: Engine | null = null;
  beforeAll(async () => {
    await onServer(`create database ${database}`);
    const url = new URL(inject("databaseUrl"));
    url.pathname = `/${database}`;
    engine = await Engine.open(url.href, kinds);
  });
  afterAll(async () => {
    await engine?.close();
    await onServer(`drop database if exists ${database} with (force)`);
  });
  return () => engine!;
}
