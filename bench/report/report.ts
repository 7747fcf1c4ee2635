import type { Machine } from "../machine.js";
import type { CellResult } from "../results.js";
import type { SystemKind } from "../systems/system.js";

/** All that a run has found out. */
export interface Report {
  readonly date: string;
  readonly machine: Machine;
  readonly postgres: { readonly version: string; readonly settings: Readonly<Record<string, string>> };
  /** Null when BullMQ was left out. */
  readonly redis: string | null;
  readonly rounds: number;
  readonly scale: number;
  readonly systems: readonly SystemKind[];
  readonly leftOut: readonly LeftOut[];
  readonly results: readonly CellResult[];
}

export interface LeftOut {
  readonly system: SystemKind;
  readonly why: string;
}
