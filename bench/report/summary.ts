import { type CellResult, figureOf } from "../results.js";
import type { SystemKind } from "../systems/system.js";
import { type Figure, perSecond, type Workload } from "../workloads/workload.js";
import { hasFaults } from "./faults-text.js";
import { markdownTable } from "./markdown-table.js";
import { figureText, withUnit } from "./number-text.js";
import type { Report } from "./report.js";

const ours = "leasehold";

/** Workload by system, and how many times better Leasehold is than the best peer on PostgreSQL. */
export function summaryTable(report: Report): string {
  const rows = workloadsOf(report.results).flatMap((workload) =>
    summaryFigures(workload).map((figure) => row(report, workload, figure)),
  );
  const head = [
    "",
    ...report.systems.map(({ label }) => label),
    "times better than the best PostgreSQL peer",
  ];
  return markdownTable(head, rows);
}

export function workloadsOf(results: readonly CellResult[]): readonly Workload[] {
  return [...new Set(results.map(({ workload }) => workload))];
}

export function summaryFigures({ figures }: Workload): readonly Figure[] {
  return figures.filter((figure, i) => i === 0 || figure.isInSummary === true);
}

function row(report: Report, workload: Workload, figure: Figure): string[] {
  const results = report.results.filter((result) => result.workload === workload);
  const title = figure === perSecond ? workload.title : `${workload.title}: ${figure.label}`;
  const cells = report.systems.map((system) =>
    cellText(
      results.filter((result) => result.system === system),
      figure,
    ),
  );
  return [withUnit(`${workload.id} ${title}`, figure), ...cells, ratioText(results, figure)];
}

function cellText(results: readonly CellResult[], figure: Figure): string {
  if (results.length === 0) return "-";
  return results
    .map((result) => {
      const value = figureOf(result, figure.key);
      const text = value === null ? "failed" : figureText(value, figure);
      const name = result.variant.name === "" ? "" : ` (${result.variant.name})`;
      return `${text}${name}${hasFaults(result) ? " with faults" : ""}`;
    })
    .join("; ");
}

/** Above 1 is better, also where less is. A peer that did it with faults counts apart. */
function ratioText(results: readonly CellResult[], figure: Figure): string {
  const peers = results.filter(({ system }) => isPostgresPeer(system));
  const flawless = ratio(
    results,
    peers.filter((result) => !hasFaults(result)),
    figure,
  );
  const all = ratio(results, peers, figure);
  if (all === null) return "-";
  if (flawless === null) return `${all.toFixed(2)} (it has faults)`;
  return flawless === all ? all.toFixed(2) : `${flawless.toFixed(2)} (${all.toFixed(2)} with faults)`;
}

function isPostgresPeer({ id, store }: SystemKind): boolean {
  return store === "postgres" && !id.startsWith(ours);
}

function ratio(results: readonly CellResult[], peers: readonly CellResult[], figure: Figure): number | null {
  const orders = new Set(peers.map(({ variant }) => variant.order));
  const own = results.filter(({ system, variant }) => system.id === ours && orders.has(variant.order));
  const [best, rival] = [bestOf(own, figure), bestOf(peers, figure)];
  if (best === null || rival === null) return null;
  return figure.better === "more" ? best / rival : rival / best;
}

function bestOf(results: readonly CellResult[], figure: Figure): number | null {
  const values = results.flatMap((result) => figureOf(result, figure.key) ?? []);
  if (values.length === 0) return null;
  return figure.better === "more" ? Math.max(...values) : Math.min(...values);
}
