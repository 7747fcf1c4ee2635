import { definitions, type MetricName } from "../../src/metrics/definitions.js";
import { histogramNames, instrumentName } from "../../src/telemetry/names.js";

const MARKER = "<!-- From here on generated from src/metrics/definitions.ts: run npm run generate. -->";

/** docs/metrics.md with the table of every metric after its marker. */
export function renderMetricsPage(page: string): string {
  const at = page.indexOf(MARKER);
  if (at === -1) throw new Error(`docs/metrics.md has no line ${MARKER}`);
  return `${page.slice(0, at)}${MARKER}\n\n${table()}\n`;
}

function table(): string {
  const rows = (Object.keys(definitions) as MetricName[]).map((name) => {
    const { type, labels, help } = definitions[name];
    const labelText = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${labelText} | ${help} | \`${telemetryName(name)}\` |`;
  });
  return ["| metric | type | labels | | OpenTelemetry |", "|---|---|---|---|---|", ...rows].join("\n");
}

function telemetryName(name: MetricName): string {
  return name in histogramNames
    ? histogramNames[name as keyof typeof histogramNames]
    : instrumentName(name).name;
}
