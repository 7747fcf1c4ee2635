/** What `leasehold simulate` and the simulation in leasehold-dev exchange. Both have the same version, so the types of one hold for the other. */

/** The options as given; what was left out has the default of `simulation/options.ts`. */
export type SimulationValues = {
  readonly seed?: number;
  readonly count?: number;
  readonly from?: number;
  readonly steps?: number;
  readonly grey?: true;
  readonly edges?: true;
  readonly tenants?: true;
  readonly minutes?: number;
  readonly times?: number;
  readonly processes?: number;
  readonly trace?: true;
};

export interface SimulationSurroundings {
  /** Receives each failed seed and each trace, as text. */
  say(line: string): void;
  /** Receives the progress. */
  note(line: string): void;
  /** Stops the run; the report then covers the seeds that were finished. */
  readonly signal: AbortSignal;
}

export interface SimulationReport {
  readonly isInterrupted: boolean;
  readonly tookMs: number;
  readonly seeds: number;
  /** Seeds that broke a promise or could not be run. */
  readonly failed: number;
  /** Seeds whose runs had different traces. */
  readonly unequal: number;
  readonly statements: number;
  readonly jobs: number;
  readonly starts: number;
  readonly faults: number;
  readonly virtualMs: number;
  readonly results: readonly SeedResult[];
}

export interface SeedResult {
  readonly seed: number;
  /** The command that runs this seed again. */
  readonly again: string;
  /** The hash of the trace; null when the seed could not be run. */
  readonly hash: string | null;
  readonly violations: readonly { readonly checker: string; readonly message: string }[];
  /** Why the seed could not be run. */
  readonly error: string | null;
  /** With --trace. */
  readonly trace?: readonly string[];
}

export type RunSimulation = (
  values: SimulationValues,
  surroundings: SimulationSurroundings,
) => Promise<SimulationReport>;
