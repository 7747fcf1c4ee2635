import { type Slope, tooSteep } from "./slopes.js";

/** For people. */
export function report(about: string, slopes: readonly Slope[]): string {
  const steep = new Set(tooSteep(slopes));
  const rows = slopes.map((slope) => {
    const limit = slope.limitPerHour === null ? "" : String(slope.limitPerHour);
    const cells = [slope.name, rounded(slope.first), rounded(slope.last), rounded(slope.perHour), limit];
    return `| ${cells.join(" | ")} | ${steep.has(slope) ? "TOO STEEP" : ""} |`;
  });
  return [
    `# Soak: ${about}`,
    "",
    "| figure | first | last | slope an hour | limit | |",
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

function rounded(value: number): string {
  return Math.abs(value) >= 100 ? String(Math.round(value)) : value.toFixed(2);
}
