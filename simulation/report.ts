import type { Simulated } from "./simulate.js";

const linesMax = 80;
/** Twice a second, and never the reason. */
const dullest = "session lh_watch_workers";

/** The lines of a trace that are about what a violation is about, and the faults; the last of them, up to the first violation if its time is known. */
export function shortened({ violations, trace }: Pick<Simulated, "violations" | "trace">): readonly string[] {
  const timed = violations.filter((violation) => violation.atMs !== undefined);
  const first = timed.sort((one, other) => (one.atMs ?? 0) - (other.atMs ?? 0))[0];
  const untilMs = first?.atMs ?? Number.POSITIVE_INFINITY;
  const about = new Set((first === undefined ? violations : [first]).flatMap((violation) => violation.about));
  about.delete("");
  const lines = trace.filter(
    (line) =>
      (line.includes("** ") || [...about].some((one) => line.includes(one))) &&
      !line.includes(dullest) &&
      Number.parseFloat(line) <= untilMs,
  );
  return lines.length > linesMax
    ? [`(${lines.length - linesMax} lines before)`, ...lines.slice(-linesMax)]
    : lines;
}

/** What a seed that failed prints: what was broken, how to run it again, and what led to it. `again` is the command that does. */
export function failureText(result: Simulated, again: string): string {
  const { seed, violations, variant } = result;
  const shown = violations.slice(0, 5).map(({ checker, message }) => `  ${checker}: ${message}`);
  const more = violations.length > 5 ? [`  and ${violations.length - 5} more`] : [];
  return [
    `seed ${seed} (${variant}): ${violations.length} violations`,
    ...shown,
    ...more,
    `Run it again: ${again}`,
    ...shortened(result).map((line) => `  ${line}`),
  ].join("\n");
}
