import { parseArgs } from "node:util";

export interface ExampleOptions {
  readonly tenants: number;
  readonly workers: number;
  readonly tickMs: number;
  readonly isJson: boolean;
}

export const help = `npm run example:tenants -- [options]

Runs so many tenants on so many processes, on an embedded PostgreSQL of its own. Then adds a process, stops one, kills one and evicts one, and tells for each how many
tenants moved and how long it took. Ends with 0 if every tenant ran once and nowhere twice at a time.

  --tenants N       hot tenants (1000)
  --workers N       worker processes at the start, 3 to 40 (10)
  --tick-ms N       how often ownership is looked at anew (3000)
  --json            one object with all figures at the end, and nothing else
  --help            this text`;

/** Null asks for help. Throws with a sentence when an option makes no sense. */
export function exampleOptions(args: readonly string[]): ExampleOptions | null {
  const text = { type: "string" } as const;
  const truth = { type: "boolean" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { tenants: text, workers: text, "tick-ms": text, json: truth, help: truth },
  });
  if (values.help === true) return null;
  const workers = number("workers", values.workers, { fallback: 10, min: 3, max: 40 });
  const tenants = number("tenants", values.tenants, { fallback: 1_000, min: 1, max: 20_000 });
  const tickMs = number("tick-ms", values["tick-ms"], { fallback: 3_000, min: 200, max: 30_000 });
  return { tenants, workers, tickMs, isJson: values.json === true };
}

function number(
  name: string,
  given: string | undefined,
  range: { readonly fallback: number; readonly min: number; readonly max: number },
): number {
  if (given === undefined) return range.fallback;
  const value = Number(given);
  if (!/^\d+$/.test(given) || value < range.min || value > range.max)
    throw new Error(`--${name} is ${given}; give a whole number from ${range.min} to ${range.max}.`);
  return value;
}
