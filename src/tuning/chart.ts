import { InvalidOptionError } from "../errors.js";
import { asObject, defaults, wholeNumber } from "../settings.js";
import type { LagSlice, Prediction } from "./predict.js";
import { rounded } from "./rounded.js";

const rows = 6;
const eighths = " ▁▂▃▄▅▆▇█";

/** The predicted lag (p99) over time as text, `width` columns at most. Times without jobs stay empty. */
export function chart(prediction: Prediction, width = 72): string {
  const columns = wholeNumber("width", width, { fallback: 72, min: 50, max: defaults.chartWidthMax });
  const { slices, lag, seconds, jobs } = asObject("prediction", prediction);
  if (!Array.isArray(slices) || slices.length === 0)
    throw new InvalidOptionError("prediction", prediction, "what predict() returned");
  const highest = Math.max(1, ...slices.map(({ p99Ms }) => p99Ms));
  const labels = Array.from({ length: rows }, (_, n) => rounded((highest * (rows - n)) / rows));
  const margin = Math.max(...labels.map((label) => label.length));
  const bars = barsOf(slices, columns - margin - 2);
  const lines = labels.map((label, n) => {
    const cells = bars.map((ms) => cellOf(ms === null ? null : ms / highest, rows - n - 1));
    return `${label.padStart(margin)} │${cells.join("")}`.trimEnd();
  });
  const end = `${rounded(seconds)} s`;
  return [
    `lag p99 in ms, ${jobs} jobs`,
    ...lines,
    `${" ".repeat(margin)} └${"─".repeat(bars.length)}`,
    `${" ".repeat(margin + 2)}0${end.padStart(Math.max(end.length + 1, bars.length - 1))}`,
    `p50 ${rounded(lag.p50Ms)} ms, p99 ${rounded(lag.p99Ms)} ms, longest ${rounded(lag.maxMs)} ms`,
  ].join("\n");
}

/** One for each column: the highest of its slices, or one slice over several columns; null where there are no jobs. */
function barsOf(slices: readonly LagSlice[], columns: number): readonly (number | null)[] {
  const perBar = Math.ceil(slices.length / columns);
  const wide = Math.max(1, Math.floor(columns / slices.length));
  const bars: (number | null)[] = [];
  for (let from = 0; from < slices.length; from += perBar) {
    const some = slices.slice(from, from + perBar).filter(({ jobs }) => jobs > 0);
    const bar = some.length === 0 ? null : Math.max(...some.map(({ p99Ms }) => p99Ms));
    bars.push(...new Array<number | null>(wide).fill(bar));
  }
  return bars;
}

/** What of a bar is in the row so far up; a bar that is there is seen, however low it is. */
function cellOf(share: number | null, row: number): string {
  if (share === null) return " ";
  const fill = Math.max(0, Math.min(1, share * rows - row));
  return eighths[Math.max(row === 0 ? 1 : 0, Math.round(fill * 8))] ?? " ";
}
