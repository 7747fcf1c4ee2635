import type { SimulationValues } from "../cli/simulation.js";

export interface RunOptions {
  readonly seeds: readonly number[];
  readonly steps: number;
  /** How long a fleet of tenant supervisors is simulated, in virtual time; null for workers on queues. */
  readonly tenantMinutes: number | null;
  /** Workers are half ill now and then. */
  readonly isGrey: boolean;
  /** Transactions commit late, functions claim by hand, an operator acts in bulk, and the server's clock is set. */
  readonly hasEdges: boolean;
  /** Each seed is run so often, and every run must have the same trace. */
  readonly times: number;
  readonly processes: number;
  readonly showsTrace: boolean;
}

/** Puts in the defaults. The ranges are checked by `cli/simulation-options.ts`, which also states the defaults for the help. */
export function runOptions(values: SimulationValues): RunOptions {
  const { seed, count = 100, from = 1, steps = 300, minutes = 30, times = 1, processes = 2 } = values;
  const seeds = seed === undefined ? Array.from({ length: count }, (_, n) => from + n) : [seed];
  return {
    seeds,
    steps,
    tenantMinutes: values.tenants === true ? minutes : null,
    isGrey: values.grey === true,
    hasEdges: values.edges === true,
    times,
    processes: Math.min(seeds.length, processes),
    showsTrace: values.trace === true,
  };
}

/** Options that choose seeds or say how they are run. All others change what happens in a seed. */
const ofRun: ReadonlySet<string> = new Set(["seed", "count", "from", "times", "processes", "trace"]);

/** The command that runs a seed again, with every option that changes what happens in it. */
export function againCommand(seed: number, values: SimulationValues): string {
  const options = Object.entries(values)
    .filter(([name]) => !ofRun.has(name))
    .map(([name, value]) => (value === true ? `--${name}` : `--${name} ${value}`));
  return ["leasehold simulate", ...options, `--seed ${seed}`].join(" ");
}
