import pg from "pg";
import type { RunSimulation } from "../cli/simulation.js";
import { startPostgres } from "../src/embedded.js";
import { runOptions } from "./options.js";
import { SeedRun } from "./seed-run.js";

/** Runs seeds on a throw-away server: `leasehold-dev/simulate`, which `leasehold simulate` loads. */
export const runSimulation: RunSimulation = async (values, surroundings) => {
  const { note, signal } = surroundings;
  const run = new SeedRun(runOptions(values), values, surroundings);
  note("Starting an embedded PostgreSQL.");
  const server = await startPostgres({
    settings: { autovacuum: "off", synchronous_commit: "off", max_connections: "200", jit: "off" },
  });
  try {
    if (!signal.aborted) await run.on(await makeDatabases(server.url, run.processes));
    return run.report();
  } finally {
    await server.stop();
  }
};

/** One for each process that runs seeds. */
async function makeDatabases(url: string, count: number): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const databases: string[] = [];
  for (let n = 1; n <= count; n++) {
    await client.query(`create database simulation_${n}`);
    const database = new URL(url);
    database.pathname = `/simulation_${n}`;
    databases.push(database.href);
  }
  await client.end();
  return databases;
}
