import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { nameOf } from "../results.js";
import { chart } from "./chart.js";
import { details } from "./details.js";
import type { Report } from "./report.js";
import { surroundings, systemSettings } from "./settings-text.js";
import { summaryTable } from "./summary.js";

/** results.json, results.md and results.svg in a folder. */
export function writeReport(report: Report, folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true });
  const files = [
    { path: join(folder, "results.json"), text: jsonOf(report) },
    { path: join(folder, "results.md"), text: markdownOf(report) },
    { path: join(folder, "results.svg"), text: chart(report) },
  ];
  for (const { path, text } of files) writeFileSync(path, text);
  return files.map(({ path }) => path);
}

export function writeJson(report: Report, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, jsonOf(report));
}

export function markdownOf(report: Report): string {
  return [
    "# Leasehold beside other queues",
    "Written by `npm run bench`; the figures of every round are in results.json.",
    surroundings(report),
    "![Bars for every workload](results.svg)",
    "## Summary",
    summaryTable(report),
    "## Workloads",
    details(report),
    "## Settings",
    systemSettings(report),
    "",
  ].join("\n\n");
}

function jsonOf(report: Report): string {
  const { systems, leftOut, results, ...rest } = report;
  const content = {
    ...rest,
    systems: systems.map(({ id, label, version }) => ({ id, label, version: version() })),
    leftOut: leftOut.map(({ system, why }) => ({ system: system.id, why })),
    results: results.map((result) => ({
      workload: result.workload.id,
      title: result.workload.title,
      system: result.system.id,
      name: nameOf(result),
      order: result.variant.order,
      settings: result.variant.settings,
      rounds: result.rounds.map((round) =>
        round.is === "failed"
          ? { seconds: round.seconds, failed: round.why }
          : { seconds: round.seconds, ...round.outcome },
      ),
    })),
  };
  return `${JSON.stringify(content, rounded, 2)}\n`;
}

/** Three digits after the point say more than a measurement does. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toFixed(3)) : value;
}
