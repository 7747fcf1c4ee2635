/**
 * Leasehold beside other queues on the same machine and server. `--help` lists the options; results go to bench/results.
 *
 *   npm run bench          (about an hour and a half; needs about 15 GB in the temporary folder)
 */
import type { Stores } from "./cell.js";
import { installPeers } from "./install-peers.js";
import { thisMachine } from "./machine.js";
import { measureAll } from "./measure-all.js";
import { help, type Options, readOptions } from "./options.js";
import { details } from "./report/details.js";
import { writeJson, writeReport } from "./report/files.js";
import type { LeftOut, Report } from "./report/report.js";
import { surroundings, systemSettings } from "./report/settings-text.js";
import { summaryTable } from "./report/summary.js";
import type { PlannedCell } from "./results.js";
import { PostgresStores } from "./stores/postgres-stores.js";
import { findRedis, redisText, whyNoRedis } from "./stores/redis-stores.js";
import { everySystem } from "./systems/every-system.js";
import type { SystemKind } from "./systems/system.js";
import { everyWorkload } from "./workloads/every-workload.js";

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options.needsHelp) {
    say(help);
    return 0;
  }
  installPeers(say);
  const interruption = interruptible();
  const stores = { postgres: await PostgresStores.start(), redis: findRedis() };
  try {
    const report = await newReport(stores, options);
    say(`${surroundings(report)}\n\n${systemSettings(report)}\n`);
    await measureAll(report, stores, interruption);
    if (interruption.aborted) return 130;
    finish(report, options);
    return report.results.some(({ rounds }) => rounds.some(({ is }) => is === "failed")) ? 1 : 0;
  } finally {
    await stores.postgres.server.stop();
  }
}

/** The first Ctrl-C ends the run in good order, a second one at once. */
function interruptible(): AbortSignal {
  const interruption = new AbortController();
  const interrupt = (): void => {
    if (interruption.signal.aborted) process.exit(130);
    say("\nStopping; what was started is put away.");
    interruption.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  return interruption.signal;
}

async function newReport(stores: Stores, options: Options): Promise<Report> {
  const wanted = everySystem.filter(({ id }) => options.systems.includes(id));
  const leftOut = wanted.flatMap((system): LeftOut[] => {
    const why = whyNoRedis(stores.redis, system.store);
    return why === null ? [] : [{ system, why }];
  });
  const systems = wanted.filter((system) => !leftOut.some((left) => left.system === system));
  const { server } = stores.postgres;
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: thisMachine(),
    postgres: { version: server.version, settings: await stores.postgres.settings() },
    redis: systems.some(({ store }) => store !== "postgres") ? redisText(stores.redis) : null,
    rounds: options.rounds,
    scale: options.scale,
    systems,
    leftOut,
    results: plan(systems, options.workloads).map((cell) => ({ ...cell, rounds: [] })),
  };
}

function plan(systems: readonly SystemKind[], workloads: readonly string[]): readonly PlannedCell[] {
  return everyWorkload
    .filter(({ id }) => workloads.includes(id))
    .flatMap((workload) =>
      systems.flatMap((system) =>
        (system.variants[workload.id] ?? []).map((variant) => ({ workload, system, variant })),
      ),
    );
}

function finish(report: Report, { out, json }: Options): void {
  say(`\n${summaryTable(report)}\n\n${details(report)}\n`);
  if (json !== null) writeJson(report, json);
  if (out !== null) say(`Written: ${writeReport(report, out).join(", ")}`);
}

try {
  process.exitCode = await main();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
// Sockets of servers that were stopped may linger.
process.exit();
