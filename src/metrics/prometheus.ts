import type { Family, Labels } from "./family.js";

export const prometheusContentType = "text/plain; version=0.0.4; charset=utf-8";

/** The text format that Prometheus scrapes. */
export function prometheusText(families: readonly Family[]): string {
  const lines = families.flatMap(({ name, help, type, samples }) => [
    `# HELP ${name} ${escaped(help, false)}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(
      ({ suffix, labels, value }) => `${name}${suffix}${labelText(labels)} ${numberText(value)}`,
    ),
  ]);
  return `${lines.join("\n")}\n`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value, true)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(text: string, isLabel: boolean): string {
  const plain = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return isLabel ? plain.replaceAll('"', '\\"') : plain;
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return String(value);
}
