import { loadavg } from "node:os";
import { type PostgresServer, startPostgres } from "../src/embedded.js";
import { connect } from "../src/index.js";
import { predict, recommend } from "../src/tuning.js";
import { costOfPayload, costOfStatements } from "./tuning/measure-costs.js";
import { type Case, type Figures, measureLag } from "./tuning/measure-lag.js";

/**
 * Predicted and measured lag side by side: real workers on an embedded server, with the recommended settings, under three small workloads. With --costs: what
 * src/tuning/costs.ts has as measured on 2026-11-18.
 *
 *   npm run bench:tuning           (about three minutes; --seconds N)
 *   npm run bench:tuning -- --costs
 */
const cases: readonly Case[] = [
  {
    name: "50 jobs/s, 20 ms handlers, 500 keys",
    cluster: { workers: 1 },
    workload: { jobsPerSecond: 50, handlerP50Ms: 20, handlerP99Ms: 100, keys: 500 },
  },
  {
    name: "400 jobs/s, 5 ms handlers, no order",
    cluster: { workers: 1 },
    workload: { jobsPerSecond: 400, handlerP50Ms: 5, handlerP99Ms: 20, order: "none" },
  },
  {
    name: "60 jobs/s, 12 ms handlers, 40 % on one key, 2 workers",
    cluster: { workers: 2 },
    workload: { jobsPerSecond: 60, handlerP50Ms: 12, handlerP99Ms: 60, keys: 200, hottestKeyShare: 0.4 },
  },
];

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(args: readonly string[]): Promise<void> {
  const at = args.indexOf("--seconds");
  const seconds = at < 0 ? 30 : Number(args[at + 1]);
  if (!Number.isSafeInteger(seconds) || seconds < 1)
    throw new RangeError("--seconds must be a whole number above 0.");
  const server = await startPostgres({ durable: true });
  try {
    const lh = await connect({ url: server.url });
    await lh.migrate();
    await lh.close();
    if (args.includes("--costs")) await costs(server);
    else await lags(server, seconds);
  } finally {
    await server.stop();
  }
}

async function lags(server: PostgresServer, seconds: number): Promise<void> {
  say(
    `PostgreSQL ${server.version}, ${seconds} s each; lag in ms, p50 / p99; load of the machine is the mean of a minute`,
  );
  for (const [n, one] of cases.entries()) {
    const recommended = recommend(one.cluster, one.workload);
    const { settings } = recommended;
    const beforehand = predict(one.cluster, one.workload, settings, { seconds }).lag;
    const measured = await measureLag(server.url, one, { recommended, seconds, queue: `tuned_${n}` });
    const { handlers, statements } = measured;
    const asItWas = predict(
      { ...one.cluster, statementP50Ms: statements.p50Ms, statementP99Ms: statements.p99Ms },
      { ...one.workload, handlerP50Ms: handlers.p50Ms, handlerP99Ms: handlers.p99Ms },
      settings,
      { seconds },
    ).lag;
    say(`  ${one.name} (${measured.jobs} jobs, load ${loadavg()[0]?.toFixed(1)})`);
    say(`    predicted ${text(beforehand)}, for a quiet machine`);
    say(
      `    predicted ${text(asItWas)}, with handlers of ${text(handlers)} and statements of ${text(statements)} as they were`,
    );
    say(`    measured  ${text(measured.lag)}`);
  }
}

function text({ p50Ms, p99Ms }: Figures): string {
  return `${p50Ms.toFixed(1)} / ${p99Ms.toFixed(1)}`;
}

async function costs(server: PostgresServer): Promise<void> {
  const statementUs = await costOfStatements(server);
  const small = await costOfPayload(server, 200);
  const large = await costOfPayload(server, 8_392);
  const perKb = (of: "databaseUs" | "nodeUs"): string => ((large[of] - small[of]) / 8).toFixed(1);
  say(`PostgreSQL ${server.version}, CPU in microseconds`);
  say(`  a statement for one job: database ${statementUs.toFixed(0)}`);
  say(`  a job of 200 bytes: database ${small.databaseUs.toFixed(0)}, Node ${small.nodeUs.toFixed(0)}`);
  say(`  each KB more: database ${perKb("databaseUs")}, Node ${perKb("nodeUs")}`);
}

await main(process.argv.slice(2));
