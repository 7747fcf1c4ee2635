import { type CellResult, figureOf, nameOf, outcomesOf } from "../results.js";
import type { Workload } from "../workloads/workload.js";
import { faultsText } from "./faults-text.js";
import { markdownTable } from "./markdown-table.js";
import { figureText, withUnit } from "./number-text.js";
import type { Report } from "./report.js";
import { workloadsOf } from "./summary.js";

/** A table for each workload: every figure, what went wrong, and what one must know to read it. */
export function details(report: Report): string {
  return workloadsOf(report.results)
    .map((workload) =>
      [
        `### ${workload.id} ${workload.title}`,
        "",
        workload.about,
        "",
        detailTable(
          workload,
          report.results.filter((result) => result.workload === workload),
        ),
      ].join("\n"),
    )
    .join("\n\n");
}

function detailTable(workload: Workload, results: readonly CellResult[]): string {
  const head = ["", ...workload.figures.map((figure) => withUnit(figure.label, figure)), "faults", "remarks"];
  const rows = results.map((result) => [
    nameOf(result),
    ...workload.figures.map((figure) => {
      const value = figureOf(result, figure.key);
      return value === null ? "-" : figureText(value, figure);
    }),
    outcomesOf(result).length === 0 ? "-" : faultsText(result),
    remarks(result),
  ]);
  return markdownTable(head, rows);
}

/** Failed rounds and notes, each once. */
function remarks(result: CellResult): string {
  const failed = result.rounds.flatMap((round) =>
    round.is === "failed" ? [`failed: ${firstLine(round.why)}`] : [],
  );
  const notes = outcomesOf(result).flatMap(({ note }) => note ?? []);
  return [...new Set([...failed, ...notes])].join("; ");
}

export function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").replaceAll("|", "/").slice(0, 160);
}
