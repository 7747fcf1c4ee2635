import type { OptionSpec } from "./command.js";
import { usageError } from "./failure.js";
import { wholeNumber } from "./option-values.js";
import type { SimulationValues } from "./simulation.js";

/** The largest seed; the dice of the simulation take 32 bits. */
const seedMax = 4_294_967_295;
const seedsMax = 1_000_000;
const stepsMax = 1_000_000;
const minutesMax = 100_000;
const timesMax = 1_000;
const processesMax = 64;

/** Every option of the simulation; a name is a single word. The command hands them over as they are, so an option that is added here reaches `simulation/options.ts`. */
export const simulationOptions: readonly OptionSpec[] = [
  number("--seed", "run this seed only", { min: 0, max: seedMax }),
  number("--count", "run this many seeds (100)", { max: seedsMax }),
  number("--from", "the first seed (1)", { max: seedMax }),
  number("--steps", "SQL statements per seed, at least (300)", { max: stepsMax }),
  { flags: "--grey", about: "also fail single kinds of statements" },
  { flags: "--edges", about: "also late commits, manual claims, clock jumps" },
  { flags: "--tenants", about: "simulate tenant supervisors, not queue workers" },
  number("--minutes", "with --tenants: virtual minutes per seed (30)", { max: minutesMax }),
  number("--times", "run each seed this often, compare the traces (1)", { max: timesMax }),
  number("--processes", "seeds at a time (2)", { max: processesMax }),
  { flags: "--trace", about: "print the whole trace of each seed" },
];

/** Refuses options that have no effect together: a run that ignores one of them would prove less than it says. */
export function checkTogether(values: SimulationValues): void {
  const given = (names: readonly (keyof SimulationValues)[]): string | null => {
    const found = names.filter((name) => values[name] !== undefined).map((name) => `--${name}`);
    return found.length === 0 ? null : found.join(" and ");
  };
  const many = given(["count", "from"]);
  if (values.seed !== undefined && many !== null)
    throw usageError("--seed runs a single seed.", `Leave out ${many}, or --seed.`);
  const ofQueues = given(["steps", "grey", "edges"]);
  if (values.tenants === true && ofQueues !== null)
    throw usageError("--tenants simulates no queues.", `Leave out ${ofQueues}, or --tenants.`);
  if (values.tenants === undefined && values.minutes !== undefined)
    throw usageError("--minutes is the length of a run with --tenants.", "Add --tenants, or use --steps.");
}

interface Range {
  readonly min?: number;
  readonly max: number;
}

function number(name: string, about: string, { min = 1, max }: Range): OptionSpec {
  return {
    flags: `${name} <number>`,
    about,
    parse: (text) => {
      const value = wholeNumber(text);
      if (value < min || value > max)
        throw usageError(`${name} is ${text}; it must be a whole number from ${min} to ${max}.`);
      return value;
    },
  };
}
