import { existsSync, openSync, readFileSync, writeSync } from "node:fs";
import type { Entry } from "../simulation/entries.js";

/** Milliseconds since 1970 with their fractions, the same for all processes of this machine. */
export const nowMs = (): number => performance.timeOrigin + performance.now();

/** What a process tells, line by line, in a file that outlives it: each line is written before the process goes on. */
export class Journal {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  note(entry: Omit<Entry, "atMs"> & Readonly<Record<string, unknown>>): void {
    const text = JSON.stringify({ atMs: nowMs(), ...entry }, (_, value: unknown) =>
      typeof value === "bigint" ? { big: String(value) } : value,
    );
    writeSync(this.#file, `${text}\n`);
  }
}

/** All whole lines of a journal; the last may have been cut off with its process. One that was killed before it could write anything has none. */
export function readJournal(path: string): readonly Entry[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map(
    (line) =>
      JSON.parse(line, (_, value: unknown) =>
        typeof value === "object" && value !== null && "big" in value ? BigInt(String(value.big)) : value,
      ) as Entry,
  );
}
