import { parseArgs } from "node:util";
import { everySystem } from "./systems/every-system.js";
import { everyWorkload } from "./workloads/every-workload.js";

export interface Options {
  readonly rounds: number;
  readonly workloads: readonly string[];
  readonly systems: readonly string[];
  /** Factor for sizes and times. */
  readonly scale: number;
  /** Where the results go; null when they are only printed. */
  readonly out: string | null;
  readonly json: string | null;
  readonly needsHelp: boolean;
}

const fullRounds = 3;

export const help: string = `Measures Leasehold beside other queues and writes bench/results.

  npm run bench
  npm run bench -- --only B3,B8 --systems leasehold,graphile-worker --rounds 1 --scale 0.1

  --rounds N        rounds to take medians of (${fullRounds})
  --only LIST       some workloads: ${everyWorkload.map(({ id }) => id).join(", ")}
  --systems LIST    some systems: ${everySystem.map(({ id }) => id).join(", ")}
  --scale FACTOR    smaller or larger sizes and times (1)
  --out DIR         where the results go. Without it only a full run writes them, to bench/results
  --json FILE       also writes all figures to this file
  --help            this text

REDIS_URL names a Redis for BullMQ where redis-server is not installed.`;

/** Throws an Error that says what is wrong with the parameters. */
export function readOptions(parameters: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...parameters],
    options: {
      rounds: { type: "string" },
      only: { type: "string" },
      systems: { type: "string" },
      scale: { type: "string" },
      out: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean" },
    },
  });
  const { only, systems, out } = values;
  const rounds = positive("--rounds", values.rounds, fullRounds);
  const scale = positive("--scale", values.scale, 1);
  const isFull = only === undefined && systems === undefined && rounds === fullRounds && scale === 1;
  return {
    rounds: Math.round(rounds),
    workloads: listed("--only", only?.toUpperCase(), everyWorkload),
    systems: listed("--systems", systems, everySystem),
    scale,
    out: out ?? (isFull ? "bench/results" : null),
    json: values.json ?? null,
    needsHelp: values.help === true,
  };
}

function positive(option: string, text: string | undefined, fallback: number): number {
  const value = Number(text ?? fallback);
  if (!Number.isFinite(value) || value <= 0) throw new Error(`${option} must be a number above 0.`);
  return value;
}

function listed(
  option: string,
  text: string | undefined,
  all: readonly { readonly id: string }[],
): readonly string[] {
  const known = all.map(({ id }) => id);
  const wanted = text === undefined ? known : text.split(",").map((id) => id.trim());
  const wrong = wanted.find((id) => !known.includes(id));
  if (wrong !== undefined) throw new Error(`${option}: there is no ${wrong}. There are ${known.join(", ")}.`);
  return known.filter((id) => wanted.includes(id));
}
