import { parseArgs } from "node:util";

export interface ChaosOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly everyMs: number;
  readonly jobsPerSecond: number;
  readonly out: string;
  /** The server's clock jumps. */
  readonly isClockMoved: boolean;
  readonly isJson: boolean;
}

export const help = `npm run chaos -- [options]

Real workers and producers on a real server, and faults every two seconds: kill -9, freezing, connections cut, slowed and swallowed, backends ended, the server stopped at
once, workers added and drained. Grey ones too: for a while the server refuses a worker its claims, settles, completions or renewals, or ends its session without telling it. An operator redrives and
discards in hundreds, a process claims by hand, and transactions on hot keys commit late. Checks what the database recorded and what the processes wrote down. Writes report.md and timeline.svg.

  --minutes N     how long (10)
  --seed N        what the faults are drawn from (by the time of day)
  --every N       milliseconds between faults (2000)
  --rate N        jobs a second (150)
  --out FOLDER    where the report goes (.leasehold/chaos)
  --clock         the server's clock jumps by up to 20 s either way when it is stopped (needs Debian's libfaketime)
  --json          the figures as JSON on the last line
  --help          this text

Example: npm run chaos -- --minutes 2 --seed 7`;

/** Null asks for help. Throws with a sentence when an option makes no sense. */
export function chaosOptions(args: readonly string[]): ChaosOptions | null {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: text,
      seed: text,
      every: text,
      rate: text,
      out: text,
      clock: { type: "boolean" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return null;
  return {
    minutes: number("minutes", values.minutes, 10),
    seed: number("seed", values.seed, Date.now() % 1_000_000),
    everyMs: number("every", values.every, 2_000),
    jobsPerSecond: number("rate", values.rate, 150),
    out: values.out ?? ".leasehold/chaos",
    isClockMoved: values.clock === true,
    isJson: values.json === true,
  };
}

/** Throws with a sentence for what is not above 0. */
export function number(name: string, given: string | undefined, fallback: number): number {
  if (given === undefined) return fallback;
  const value = Number(given);
  if (!Number.isFinite(value) || value <= 0 || value > 1_000_000_000)
    throw new RangeError(`--${name} is ${given}; it must be a number above 0.`);
  return value;
}
