import type { Prediction, Recommendation, TuningRow } from "../../src/tuning.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { count, counted, span } from "../figures.js";
import { durationMs, wholeNumber } from "../option-values.js";
import { table } from "../table.js";
import { wrap } from "../text-width.js";
import { clusterOf, decimal, type TuneOptions, workloadOf } from "../tune-inputs.js";
import type { Screen } from "../view.js";
import { withDefined } from "../with-defined.js";

export const command: CommandSpec = defineCommand<TuneOptions>({
  name: "tune",
  summary: "settings for a workload, with reasons",
  about:
    "Recommends settings for a workload: every setting with its value and the rule behind it, how many workers it needs, what the limit is, and what does not go together. Needs no database. --simulate runs a model of it on virtual time.",
  options: [
    { flags: "--rate <jobs>", about: "jobs a second, on average", parse: decimal, isRequired: true },
    {
      flags: "--p50 <time>",
      about: "half of the handlers take less: 20ms",
      parse: durationMs,
      isRequired: true,
    },
    { flags: "--p99 <time>", about: "99 of 100 take less: 200ms", parse: durationMs, isRequired: true },
    { flags: "--peak <jobs>", about: "jobs a second in the busiest minutes", parse: decimal },
    { flags: "--bound <by>", about: "handlers wait or compute (io)", choices: ["io", "cpu"] },
    { flags: "--order <order>", about: "of the queue (key)", choices: ["key", "none"] },
    { flags: "--keys <number>", about: "keys with work at a time (1000)", parse: wholeNumber },
    { flags: "--hot-key <share>", about: "share of the busiest key, 0 to 1", parse: decimal },
    { flags: "--payload-bytes <bytes>", about: "a typical payload (250)", parse: wholeNumber },
    { flags: "--latency <time>", about: "99 % start within (1s)", parse: durationMs },
    { flags: "--failover <time>", about: "a crashed worker's jobs run within (60s)", parse: durationMs },
    { flags: "--no-transaction", about: "handlers do not use job.transaction" },
    { flags: "--workers <number>", about: "processes; left out: as many as needed", parse: wholeNumber },
    { flags: "--cores <number>", about: "cores of a worker (2)", parse: wholeNumber },
    { flags: "--database-cores <number>", about: "cores of the server (2)", parse: wholeNumber },
    {
      flags: "--pool-mode <mode>",
      about: "a pooler between (direct)",
      choices: ["direct", "session", "transaction"],
    },
    { flags: "--connections <number>", about: "max_connections of the server (100)", parse: wholeNumber },
    { flags: "--explain", about: "every rule in full, and what to watch" },
    { flags: "--simulate [seconds]", about: "predict the lag on virtual time (60)", parse: wholeNumber },
    { flags: "--seed <number>", about: "of the simulation (1)", parse: wholeNumber },
  ],
  examples: [
    "leasehold tune --rate 200 --p50 20ms --p99 200ms",
    "leasehold tune --rate 50 --p50 1s --p99 10s --latency 5s --simulate",
  ],
  async run(_, { options }) {
    const { chart, predict, recommend } = await import("../../src/tuning.js");
    const [cluster, workload] = [clusterOf(options), workloadOf(options)];
    const recommendation = recommend(cluster, workload);
    const { simulate, seed } = options;
    const seconds = simulate === true ? undefined : simulate;
    const prediction =
      simulate === undefined ? null : predict(cluster, workload, {}, withDefined({ seconds, seed }));
    return {
      data: prediction === null ? recommendation : { ...recommendation, prediction },
      lines: (screen) => [
        ...recommendationLines(screen, recommendation, options.explain === true),
        ...(prediction === null
          ? []
          : [
              "",
              ...chart(prediction, Math.min(screen.width, 80)).split("\n"),
              predictedLine(screen, prediction, recommendation.targets.latencyMs),
            ]),
      ],
    };
  },
});

function verdictOf({ paint }: Screen, isMet: boolean): string {
  return isMet ? paint.good("met") : paint.bad("not met");
}

function predictedLine(screen: Screen, { lag }: Prediction, targetMs: number): string {
  const verdict = verdictOf(screen, lag.p99Ms <= targetMs);
  return `Predicted: 99 % of the jobs start within ${span(lag.p99Ms)}. Target: ${span(targetMs)}, ${verdict}.`;
}

function recommendationLines(
  screen: Screen,
  recommendation: Recommendation,
  isExplained: boolean,
): readonly string[] {
  const { rows, workersNeeded, limit, meets, targets, failover, warnings, settings } = recommendation;
  const fleet = `${counted(settings.workers, "worker")} with ${counted(settings.concurrency, "handler")} each`;
  const used = `${Math.round(100 * limit.usedAtPeak)} % used at the peak`;
  const shown = rows.filter(({ option }) => option !== null);
  return [
    screen.paint.bold(`${fleet}; the workload needs ${counted(workersNeeded, "worker")}.`),
    ...wrap(
      `The limit is ${limit.resource.replace("_", " ")} at ${count(limit.jobsPerSecond)} jobs/s, ${used}: ${limit.how}.`,
      screen.width,
    ),
    `Latency target, 99 % start within ${span(targets.latencyMs)}: ${verdictOf(screen, meets.latency)}.`,
    `Failover target ${span(targets.failoverMs)}: ${verdictOf(screen, meets.failover)} (crash ${span(failover.crashMs)}, lost machine ${span(failover.lostMachineMs)}).`,
    ...(warnings.length === 0 ? [] : ["", screen.paint.warn("What does not go together:")]),
    ...warnings.flatMap(({ message }) => wrap(message, screen.width, "  ")),
    "",
    ...(isExplained ? shown.flatMap((row) => explained(screen, row)) : settingsTable(screen, shown)),
  ];
}

function settingsTable(screen: Screen, rows: readonly TuningRow[]): readonly string[] {
  return table(screen, rows, [
    { title: "OPTION", value: ({ option }) => option ?? "" },
    { title: "VALUE", value: valueWords, align: "right" },
    { title: "OF", value: ({ of }) => of ?? "" },
    { title: "RULE (--explain: in full)", value: ({ rule }) => rule, least: 20 },
  ]);
}

function explained(screen: Screen, row: TuningRow): readonly string[] {
  return [
    `${screen.paint.bold(`${row.option}: ${row.value}`)}, ${row.title.toLowerCase()}, of ${row.of}`,
    ...wrap(row.rule, screen.width, "  "),
    ...wrap(`Watch: ${row.watch}`, screen.width, "  "),
    "",
  ];
}

function valueWords({ value, unit }: TuningRow): string {
  if (value === null) return "-";
  return unit === "ms" ? span(value) : count(value);
}
