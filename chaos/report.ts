import type { Violation } from "../simulation/history.js";
import type { Figures, Spread } from "./figures.js";
import type { Recovery } from "./recoveries.js";

export interface ReportParts {
  readonly seed: number;
  readonly figures: Figures;
  readonly faults: ReadonlyMap<string, number>;
  readonly violations: readonly Violation[];
  readonly server: string;
  /** Statements that the server refused for want of a right. */
  readonly refused: number;
}

/** A run in Markdown. */
export function report({ seed, figures, faults, violations, server, refused }: ReportParts): string {
  const { recoveryMs, greyRecoveryMs, byHandRecoveryMs, waitMs } = figures;
  const total = [...faults.values()].reduce((sum, count) => sum + count, 0);
  const rows = [...faults]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `| ${name} | ${count} |`);
  const broken = violations.slice(0, 50).map(({ checker, message }) => `- ${checker}: ${message}`);
  return `# Chaos, seed ${seed}

${figures.seconds} s on PostgreSQL ${server}, ${total} faults, **${violations.length} violations**. \`timeline.svg\` shows it over time.

| | |
|---|---|
| jobs acknowledged | ${figures.acknowledged} |
| jobs completed | ${figures.completed} (${Math.round(figures.completed / Math.max(1, figures.seconds))}/s) |
| handler starts | ${figures.starts} |
| starts repeated without an outcome | ${figures.repeated} |
| starts by hand | ${figures.byHand} |
| redriven, discarded by the operator | ${figures.redriven}, ${figures.discarded} |
| rows that committed below others of their key | ${figures.lateCommits} |
| statements refused by the server | ${refused} |
| rows taken over | ${figures.takenOver} |
| from a killed process to the next start of what it had in hand | ${spread(recoveryMs)} |
| the same while the claims of another worker were refused | ${spread(greyRecoveryMs)} |
| the same of what was claimed by hand | ${spread(byHandRecoveryMs)} |
| from when nothing stood before a job to its start | p50 ${waitMs.p50} ms, p99 ${waitMs.p99} ms |

| fault | times |
|---|---|
${rows.join("\n")}

## The slowest recoveries

| job | ms | waited for | meanwhile |
|---|---|---|---|
${figures.slowest.map(recoveryRow).join("\n")}
${broken.length === 0 ? "" : `\n## Violations\n\n${broken.join("\n")}\n`}`;
}

function spread({ p50, p99, max, count }: Spread): string {
  return `p50 ${p50} ms, p99 ${p99} ms, longest ${max} ms (${count} jobs)`;
}

function recoveryRow({ id, key, ms, causes, backoffMs, faults, greys }: Recovery): string {
  const waits = [...causes]
    .sort(([, one], [, other]) => other - one)
    .map(([cause, waited]) => `${cause} ${Math.round(waited)}`);
  const backoff = backoffMs > 0 ? `, longest backoff ${Math.round(backoffMs)}` : "";
  return `| ${id} of ${key} | ${Math.round(ms)} | ${waits.join(", ")}${backoff} | ${[...new Set([...faults, ...greys])].join(", ")} |`;
}
