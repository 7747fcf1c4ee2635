import type { SystemKind, Variant } from "./systems/system.js";
import type { Outcome, Workload } from "./workloads/workload.js";

/** One line of the plan: a system, set up in one way, at one workload. */
export interface PlannedCell {
  readonly workload: Workload;
  readonly system: SystemKind;
  readonly variant: Variant;
}

export interface CellResult extends PlannedCell {
  /** One for each turn of each round. */
  readonly rounds: RoundResult[];
}

export type RoundResult =
  | { readonly is: "measured"; readonly seconds: number; readonly outcome: Outcome }
  | { readonly is: "failed"; readonly seconds: number; readonly why: string };

/** The middle one; null without any. */
function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  const lower = sorted[(sorted.length - 1) >> 1];
  return upper === undefined || lower === undefined ? null : (upper + lower) / 2;
}

/** The median over the rounds that ended well; null when none did. */
export function figureOf(result: CellResult, key: string): number | null {
  const values = outcomesOf(result).flatMap(({ figures }) => figures[key] ?? []);
  return median(values.filter((value) => Number.isFinite(value)));
}

export function outcomesOf(result: CellResult): readonly Outcome[] {
  return result.rounds.flatMap((round) => (round.is === "measured" ? [round.outcome] : []));
}

/** "graphile-worker, local queue". */
export function nameOf({ system, variant }: PlannedCell): string {
  return variant.name === "" ? system.label : `${system.label}, ${variant.name}`;
}
