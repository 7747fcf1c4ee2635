import type { Entry } from "./entries.js";

export interface HistorySettings {
  readonly order: "key" | "none";
  readonly onDeadLetter: "continue" | "park";
  readonly keepsArchive: boolean;
  readonly buckets: number;
  readonly maxCrashes: number;
  /** How long a bucket may be without a healthy owner while somebody healthy could own it. */
  readonly ownedWithinMs: number;
  /** Statements that run at the same time are written down in either order, this far apart at most. None in the simulation, where one runs at a time. */
  readonly raceMs: number;
  /** How many claims of its key may still pass over a row that committed below others. None in a strict queue, nor where every enqueue commits at once. */
  readonly lateClaimsMax: number;
}

export interface History {
  readonly settings: HistorySettings;
  readonly entries: readonly Entry[];
}

/** What must not be. `about` are ids, keys and processes by which the trace can be cut to what matters. */
export interface Violation {
  readonly checker: string;
  readonly message: string;
  readonly about: readonly string[];
  /** When it was seen, for those whose trace goes on for long after it. */
  readonly atMs?: number;
}

export type Checker = (history: History) => readonly Violation[];
