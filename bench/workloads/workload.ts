import type { Cell } from "../cell.js";
import type { Faults } from "../faults.js";
import type { WorkloadId } from "../systems/system.js";

export interface Workload {
  readonly id: WorkloadId;
  readonly title: string;
  /** How it is measured, in a sentence or two. */
  readonly about: string;
  /** The first is the one of the summary and of the chart. */
  readonly figures: readonly Figure[];
  /** How often each system has its turn in a round; once unless told. Short turns that alternate put the moods of a shared machine on everybody. */
  readonly turns?: number;
  /** What one system takes about in a turn, at full size; a guess for the first round's estimate. */
  readonly expectedSeconds: number;
  run(cell: Cell): Promise<Outcome>;
}

export interface Figure {
  readonly key: string;
  readonly label: string;
  readonly unit: string;
  readonly better: "more" | "less";
  /** Digits after the point; none unless told. */
  readonly digits?: number;
  /** Has a line in the summary, as the first has. */
  readonly isInSummary?: boolean;
}

export interface Outcome {
  readonly figures: Readonly<Record<string, number>>;
  readonly faults: Faults;
  /** What one must know to read the figures, such as that the run was broken off. */
  readonly note?: string;
}

export const perSecond: Figure = Object.freeze({
  key: "perSecond",
  label: "rate",
  unit: "jobs/s",
  better: "more",
});
