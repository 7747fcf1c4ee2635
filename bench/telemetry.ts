/**
 * What metrics and traces cost: B12, the CPU of a job's life, without them, with metrics scraped each second, and with traces on top, one in a hundred of them recorded or all. "context" is what a
 * process pays that uses OpenTelemetry at all: its context manager is on, and nothing is traced. "traced requests" are spans for one bulk call in a hundred and for its jobs, with requireParentSpan. They take turns
 * in each round, so that a busy machine is busy for all of them, and each round gives a ratio.
 *
 *   npm run bench:telemetry -- --rounds 9 --scale 1
 */
import { parseArgs } from "node:util";
import { Cell } from "./cell.js";
import { PostgresStores } from "./stores/postgres-stores.js";
import { findRedis } from "./stores/redis-stores.js";
import { leasehold } from "./systems/leasehold.js";
import type { Variant } from "./systems/system.js";
import { cost } from "./workloads/cost.js";

const kinds = ["none", "metrics", "context", "traced requests", "sampled traces", "traces"] as const;
type Kind = (typeof kinds)[number];

const variants = Object.fromEntries(
  kinds.map((telemetry): [Kind, Variant] => [
    telemetry,
    { name: telemetry, order: "none", settings: { retentionMs: 0, concurrency: 100, telemetry } },
  ]),
) as Record<Kind, Variant>;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function numberOf(text: string | undefined, fallback: number): number {
  const value = Number(text ?? fallback);
  if (!Number.isFinite(value) || value <= 0) throw new Error(`${text} is no number above 0.`);
  return value;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

async function main(): Promise<void> {
  const options = { rounds: { type: "string" }, scale: { type: "string" } } as const;
  const { values } = parseArgs({ options });
  const [rounds, scale] = [numberOf(values.rounds, 9), numberOf(values.scale, 1)];
  const stores = { postgres: await PostgresStores.start(), redis: findRedis() };
  const cpu: Record<Kind, { node: number; all: number }[]> = {
    none: [],
    metrics: [],
    context: [],
    "traced requests": [],
    "sampled traces": [],
    traces: [],
  };
  try {
    // The first round warms up and does not count.
    for (let round = 0; round <= rounds; round++)
      for (let i = 0; i < kinds.length; i++) {
        const kind = kinds[(round + i) % kinds.length] ?? "none";
        const cell = new Cell(stores, { system: leasehold, variant: variants[kind] }, scale);
        const { figures } = await cost.run(cell).finally(() => cell.end());
        const { node = Number.NaN, database = Number.NaN } = figures;
        say(`round ${round} ${kind}: node ${node.toFixed(1)}, database ${database.toFixed(1)} us/job`);
        if (round > 0) cpu[kind].push({ node, all: node + database });
      }
  } finally {
    await stores.postgres.server.stop();
  }
  for (const of of ["all", "node"] as const)
    for (const kind of kinds) {
      const ratios = cpu[kind].map((one, i) => one[of] / (cpu.none[i]?.[of] ?? Number.NaN));
      const median = quantile(
        cpu[kind].map((one) => one[of]),
        0.5,
      );
      const spread = `${quantile(ratios, 0).toFixed(3)} to ${quantile(ratios, 1).toFixed(3)}`;
      const name = of === "all" ? "CPU of node and database" : "CPU of node";
      say(
        `${name}, ${kind}: ${median.toFixed(1)} us/job, ratio ${quantile(ratios, 0.5).toFixed(3)} (${spread})`,
      );
    }
}

await main();
// Sockets of a server that was stopped may linger.
process.exit();
