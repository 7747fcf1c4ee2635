import { Cell, type Stores } from "./cell.js";
import { Progress } from "./progress.js";
import { firstLine } from "./report/details.js";
import { hasFaults } from "./report/faults-text.js";
import { figureText } from "./report/number-text.js";
import type { Report } from "./report/report.js";
import { workloadsOf } from "./report/summary.js";
import type { CellResult, RoundResult } from "./results.js";

const cellLimitMs = 600_000;

/** Every system at every workload, as often in a round as the workload says. Each time another system is the first, so that none is always at the same place. */
export async function measureAll(report: Report, stores: Stores, interruption: AbortSignal): Promise<void> {
  const { rounds, scale } = report;
  const steps = Array.from({ length: rounds }, (_, i) =>
    turned(report.results, i).map((cell) => ({ cell, round: i + 1 })),
  ).flat();
  const progress = new Progress(steps, { rounds, scale });
  for (const [i, { cell }] of steps.entries()) {
    if (interruption.aborted) break;
    progress.begin(i);
    const round = await measure(new Cell(stores, cell, scale), cell, interruption);
    cell.rounds.push(round);
    progress.end(roundText(cell, round));
  }
}

/** The cells of each workload, begun with another one each time. */
function turned(results: readonly CellResult[], round: number): readonly CellResult[] {
  return workloadsOf(results).flatMap((workload) => {
    const group = results.filter((result) => result.workload === workload);
    const { turns = 1 } = workload;
    return Array.from({ length: turns }, (_, turn) => {
      const first = (round * turns + turn) % group.length;
      return [...group.slice(first), ...group.slice(0, first)];
    }).flat();
  });
}

/** A measurement that fails or takes too long is a result like others. */
async function measure(
  cell: Cell,
  { workload }: CellResult,
  interruption: AbortSignal,
): Promise<RoundResult> {
  const startedAtMs = performance.now();
  const seconds = (): number => (performance.now() - startedAtMs) / 1_000;
  const limit = breakingOff(interruption);
  const run = workload.run(cell);
  try {
    return { is: "measured", outcome: await Promise.race([run, limit.broken]), seconds: seconds() };
  } catch (error) {
    return { is: "failed", why: error instanceof Error ? error.message : String(error), seconds: seconds() };
  } finally {
    limit.stop();
    // Once its processes are gone, whatever it was waiting for fails.
    run.catch(() => {});
    await cell.end();
  }
}

function breakingOff(interruption: AbortSignal): { readonly broken: Promise<never>; stop(): void } {
  let stop = (): void => {};
  const broken = new Promise<never>((_resolve, reject) => {
    const interrupt = (): void => reject(new Error("interrupted"));
    const timer = setTimeout(
      () => reject(new Error(`timed out after ${cellLimitMs / 1_000} s`)),
      cellLimitMs,
    );
    interruption.addEventListener("abort", interrupt);
    stop = () => {
      clearTimeout(timer);
      interruption.removeEventListener("abort", interrupt);
    };
  });
  broken.catch(() => {});
  return { broken, stop: () => stop() };
}

function roundText(cell: CellResult, round: RoundResult): string {
  if (round.is === "failed") return `failed, ${firstLine(round.why)}`;
  const figures = cell.workload.figures.flatMap((figure) => {
    const value = round.outcome.figures[figure.key];
    return value === undefined ? [] : [`${figure.label} ${figureText(value, figure)} ${figure.unit}`.trim()];
  });
  return `${figures.join(", ")}${hasFaults(cell) ? " with faults" : ""}`;
}
