import { parseArgs } from "node:util";
import { number } from "../chaos/options.js";

export interface SoakOptions {
  readonly minutes: number;
  readonly jobsPerSecond: number;
  readonly workers: number;
  readonly days: number;
  readonly out: string;
  readonly isJson: boolean;
}

export const help = `npm run soak -- [options]

Workers and a producer at a steady rate on a server of their own, for hours. Looks once a minute at the memory of processes and backends, the size of tables, indexes and the
catalog, dead tuples, and how long jobs wait, and says how steep each rises. The time that SQL is told moves on by a day several times, so that archive days begin and end.
Fails when something rises faster than it may. Writes report.md and samples.json.

  --minutes N     how long (120)
  --rate N        jobs a second (100)
  --workers N     worker processes (3)
  --days N        how often a day is passed over (8)
  --out FOLDER    where the report goes (.leasehold/soak)
  --json          the slopes as JSON on the last line
  --help          this text

Example: npm run soak -- --minutes 10 --days 2`;

/** Null asks for help. Throws with a sentence when an option makes no sense. */
export function soakOptions(args: readonly string[]): SoakOptions | null {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { minutes: text, rate: text, workers: text, days: text, out: text, json: flag, help: flag },
  });
  if (values.help === true) return null;
  return {
    minutes: number("minutes", values.minutes, 120),
    jobsPerSecond: number("rate", values.rate, 100),
    workers: number("workers", values.workers, 3),
    days: number("days", values.days, 8),
    out: values.out ?? ".leasehold/soak",
    isJson: values.json === true,
  };
}
