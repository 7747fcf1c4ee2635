import type { SystemKind, Variant } from "../systems/system.js";
import type { Report } from "./report.js";

/** Where it was measured, and how everybody was set up. */
export function surroundings({ date, machine, postgres, redis, rounds, scale }: Report): string {
  const { cpu, cores, memoryGb, system, node } = machine;
  return [
    `- ${date}, medians of ${rounds} ${rounds === 1 ? "round" : "rounds"}${scale === 1 ? "" : `, sizes times ${scale}`}`,
    `- ${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, Node ${node}`,
    `- PostgreSQL ${postgres.version}: ${listed(postgres.settings)}`,
    ...(redis === null ? [] : [`- Redis ${redis}`]),
    "- Machines have moods: figures are medians over rounds, and over several short turns in each round where a workload says so.",
    "- Every measurement has fresh processes and a fresh database or Redis; payloads are JSON of 250 bytes; handlers only count.",
  ].join("\n");
}

export function systemSettings({ systems, results, leftOut }: Report): string {
  const used = systems.map((system) => {
    const lines = settingLines(
      system,
      results.filter((result) => result.system === system).map(({ workload }) => workload.id),
    );
    return [`- ${system.label} ${system.version()}`, ...lines.map((line) => `  - ${line}`)].join("\n");
  });
  return [...used, ...leftOut.map(({ system, why }) => `- ${system.label} was left out: ${why}`)].join("\n");
}

/** Variants that are set up alike share a line. */
function settingLines(system: SystemKind, workloads: readonly string[]): readonly string[] {
  const byText = new Map<string, Set<string>>();
  for (const [workload, variants] of Object.entries(system.variants)) {
    if (!workloads.includes(workload)) continue;
    for (const { name, order, settings } of variants) {
      const text = `${name === "" || name === `order ${order}` ? "" : `${name}: `}order ${order}; ${listed(settings)}`;
      byText.set(text, (byText.get(text) ?? new Set()).add(workload));
    }
  }
  return [...byText].map(([text, names]) => `${[...names].join(", ")}: ${text}`);
}

function listed(settings: Variant["settings"]): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}
