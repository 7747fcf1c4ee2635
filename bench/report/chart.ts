import { type CellResult, figureOf, nameOf } from "../results.js";
import type { Figure, Workload } from "../workloads/workload.js";
import { hasFaults } from "./faults-text.js";
import { figureText, withUnit } from "./number-text.js";
import type { Report } from "./report.js";
import { summaryFigures, workloadsOf } from "./summary.js";

const panelWidth = 550;
const gap = 28;
const columns = 2;
const labelWidth = 215;
const valueWidth = 90;
const barHeight = 16;
const barStep = 23;
const titleHeight = 46;

interface Bar {
  readonly label: string;
  readonly figure: Figure;
  readonly result: CellResult;
}

interface Panel {
  readonly title: string;
  readonly hint: string;
  readonly bars: readonly Bar[];
}

/** Bars by hand: a panel for each workload, a bar for each system. Colours follow the reader's light or dark scheme. */
export function chart(report: Report): string {
  const panels = workloadsOf(report.results).map((workload) =>
    panelOf(
      workload,
      report.results.filter((result) => result.workload === workload),
    ),
  );
  const rows: Panel[][] = [];
  for (let i = 0; i < panels.length; i += columns) rows.push(panels.slice(i, i + columns));
  let y = gap;
  const parts = rows.flatMap((row) => {
    const top = y;
    y += Math.max(...row.map(({ bars }) => titleHeight + bars.length * barStep)) + gap;
    return row.map((panel, column) => panelSvg(panel, gap + column * (panelWidth + gap), top));
  });
  const width = gap + columns * (panelWidth + gap);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" role="img" aria-label="Leasehold beside other queues">`,
    style,
    `<rect class="paper" width="${width}" height="${y}" rx="8"/>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

const style = `<style>
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; font-size: 14px; }
  .unit, .faults { fill: #57606a; }
  .paper { fill: #ffffff; }
  .bar { fill: #9aa4b0; }
  .leasehold { fill: #0f7b6c; }
  .leasehold-archive { fill: #6bb5a9; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .unit, .faults { fill: #9198a1; }
    .paper { fill: #0d1117; }
    .bar { fill: #5f6b78; }
    .leasehold { fill: #2fb8a3; }
    .leasehold-archive { fill: #1f7f71; }
  }
</style>`;

/** A workload of ours alone has a bar for each figure of the summary, others have one for each system. */
function panelOf(workload: Workload, results: readonly CellResult[]): Panel {
  const isOurs =
    new Set(results.map(({ system }) => system)).size === 1 && results[0]?.system.id === "leasehold";
  const figures = summaryFigures(workload).slice(0, isOurs ? undefined : 1);
  const bars = results.flatMap((result) =>
    figures.map((figure) => {
      const label = [result.variant.name, figure.label].filter((part) => part !== "").join(", ");
      return { label: isOurs ? label : nameOf(result), figure, result };
    }),
  );
  const [first] = figures;
  const sense = first?.better === "less" ? "shorter is better" : "longer is better";
  const what = first === undefined || isOurs ? (first?.unit ?? "") : withUnit(first.label, first);
  const hint = [what, sense].filter((part) => part !== "").join("; ");
  return { title: `${workload.id} ${workload.title}`, hint, bars };
}

function panelSvg({ title, hint, bars }: Panel, x: number, y: number): string {
  const most = Math.max(...bars.map(lengthOf), Number.MIN_VALUE);
  return [
    `<g transform="translate(${x} ${y})">`,
    `<text class="title" y="14">${escaped(title)}</text>`,
    `<text class="unit" y="31">${escaped(hint)}</text>`,
    ...bars.map((bar, i) => barSvg(bar, most, titleHeight + i * barStep)),
    "</g>",
  ].join("\n");
}

function barSvg(bar: Bar, most: number, y: number): string {
  const { label, figure, result } = bar;
  const room = panelWidth - labelWidth - valueWidth;
  const width = Math.max(1, (lengthOf(bar) / most) * room);
  const value = figureOf(result, figure.key);
  const text = value === null ? "failed" : figureText(value, figure);
  const mark = hasFaults(result) ? ' <tspan class="faults">with faults</tspan>' : "";
  const base = y + barHeight - 4;
  return [
    `<text x="${labelWidth - 8}" y="${base}" text-anchor="end">${escaped(shortened(label))}</text>`,
    `<rect class="bar ${result.system.id}" x="${labelWidth}" y="${y}" width="${width.toFixed(1)}" height="${barHeight}" rx="2"/>`,
    `<text x="${(labelWidth + width + 6).toFixed(1)}" y="${base}">${text}${mark}</text>`,
  ].join("\n");
}

/** A bar that failed has no length. */
function lengthOf({ figure, result }: Bar): number {
  return figureOf(result, figure.key) ?? 0;
}

function shortened(name: string): string {
  return name.length > 36 ? `${name.slice(0, 35)}…` : name;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
