import { type CommandSpec, defineCommand } from "../command.js";
import { type ExitCode, exitCodes } from "../exit-codes.js";
import { count, counted, span } from "../figures.js";
import { loadSimulation } from "../load-simulation.js";
import type { SimulationReport, SimulationValues } from "../simulation.js";
import { checkTogether, simulationOptions } from "../simulation-options.js";
import { stopSignal } from "../stop-signal.js";
import { wrap } from "../text-width.js";
import type { Screen } from "../view.js";

export const command: CommandSpec = defineCommand<SimulationValues>({
  name: "simulate",
  summary: "test the promises with seeds, on virtual time",
  about:
    "Tests the promises of this version of Leasehold. Each seed runs workers and producers on virtual time over a real PostgreSQL, injects faults drawn from the seed, and checks what the database recorded. The same seed gives the same run. Needs leasehold-dev in the same version; starts an embedded server of its own and never touches yours. Ends with 1 when a seed breaks a promise, and prints the command that repeats it.",
  options: simulationOptions,
  examples: [
    "leasehold simulate --count 1000 --grey --edges",
    "leasehold simulate --tenants --count 200",
    "leasehold simulate --seed 4711 --trace",
  ],
  ownsSignals: true,
  async run(context, { options }) {
    const values = valuesOf(options);
    checkTogether(values);
    const runSimulation = await loadSimulation(context.version);
    const report = await runSimulation(values, {
      say: context.isJson ? () => {} : context.say,
      note: context.note,
      signal: stopSignal(),
    });
    return { data: report, lines: (screen) => summary(screen, report), exitCode: exitCodeOf(report) };
  },
});

/** Without --json and the other options of every command. */
function valuesOf(options: SimulationValues): SimulationValues {
  const names = new Set(simulationOptions.map(({ flags }) => /^--([\w-]+)/.exec(flags)?.[1]));
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.has(name)));
}

function exitCodeOf({ isInterrupted, failed, unequal }: SimulationReport): ExitCode {
  if (isInterrupted) return exitCodes.interrupted;
  return failed + unequal === 0 ? exitCodes.ok : exitCodes.failed;
}

function summary({ width, paint }: Screen, report: SimulationReport): readonly string[] {
  const { seeds, failed, unequal, tookMs, isInterrupted } = report;
  const ran = `${isInterrupted ? "Interrupted: " : ""}${counted(seeds, "seed")} in ${span(tookMs)}`;
  const bad = [
    ...(failed === 0 ? [] : [`${count(failed)} failed`]),
    ...(unequal === 0 ? [] : [`${count(unequal)} with two traces`]),
  ];
  const verdict = bad.length === 0 ? paint.good("no violation") : paint.bad(bad.join(", "));
  const amounts = [
    counted(report.statements, "statement"),
    counted(report.jobs, "job"),
    counted(report.starts, "handler start"),
    counted(report.faults, "fault"),
    `${span(report.virtualMs)} of virtual time`,
  ];
  return [`${ran}: ${verdict}.`, ...wrap(`${amounts.join(", ")}.`, width)];
}
