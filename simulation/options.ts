import { parseArgs } from "node:util";

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
  readonly isJson: boolean;
  readonly showsTrace: boolean;
}

export const help = `npm run simulate -- [options]

Runs the worker, membership, housekeeping and settle code of src/ on virtual time against a real PostgreSQL, with faults drawn from a seed, and checks what
happened. The same seed does the same again.

  --seed N          one seed, with its trace at the end
  --count N         so many seeds (100)
  --from N          the first of them (1)
  --steps N         statements of a seed, at least (300)
  --grey            also makes workers half ill: their claims, settles or renewals fail while all else works
  --edges           also commits transactions late, claims by hand, acts in bulk, and sets the server's clock
  --tenants         a fleet of tenant supervisors instead of workers on a queue
  --minutes N       with --tenants: how long, in virtual time (30)
  --times N         run each seed so often and compare the traces (1)
  --processes N     seeds at a time (2)
  --trace           print the whole trace of a seed
  --json            one line of JSON per seed, and one for the sum
  --help            this text

Example: npm run simulate -- --count 1000 --grey --edges
         npm run simulate -- --tenants --count 200
         npm run simulate -- --seed 4711 --trace`;

/** Null asks for help. Throws with a sentence when an option makes no sense. */
export function runOptions(args: readonly string[]): RunOptions | null {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: text,
      count: text,
      from: text,
      steps: text,
      minutes: text,
      grey: { type: "boolean" },
      edges: { type: "boolean" },
      tenants: { type: "boolean" },
      times: text,
      processes: text,
      trace: { type: "boolean" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return null;
  const first = number("from", values.from, 1);
  const count = number("count", values.count, 100);
  const seeds =
    values.seed === undefined
      ? Array.from({ length: count }, (_, n) => first + n)
      : [number("seed", values.seed, 0)];
  return {
    seeds,
    steps: number("steps", values.steps, 300),
    tenantMinutes: values.tenants === true ? number("minutes", values.minutes, 30) : null,
    isGrey: values.grey === true,
    hasEdges: values.edges === true,
    times: number("times", values.times, 1),
    processes: Math.min(seeds.length, number("processes", values.processes, 2)),
    isJson: values.json === true,
    showsTrace: values.trace === true,
  };
}

/** The options that run a seed again. */
export function againOptions(
  seed: number,
  options: Pick<RunOptions, "steps" | "tenantMinutes" | "isGrey" | "hasEdges">,
): string {
  const { steps, tenantMinutes, isGrey, hasEdges } = options;
  return tenantMinutes === null
    ? `${isGrey ? "--grey " : ""}${hasEdges ? "--edges " : ""}--seed ${seed} --steps ${steps}`
    : `--tenants --seed ${seed} --minutes ${tenantMinutes}`;
}

const numberMax = 4_294_967_295;

function number(name: string, given: string | undefined, fallback: number): number {
  if (given === undefined) return fallback;
  const value = Number(given);
  if (!/^\d+$/.test(given) || value > numberMax || (value === 0 && name !== "seed"))
    throw new RangeError(`--${name} is ${given}; it must be a whole number from 1 to ${numberMax}.`);
  return value;
}
