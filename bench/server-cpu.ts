import { readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = 100;

/** User and system time of a server's processes, those that have ended included. Null where there is no /proc. */
export function serverCpuMs(pid: number): number | null {
  const main = readTimes(pid);
  if (main === null) return null;
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readTimes(Number(name)) ?? [])
    .filter((times) => times.parent === pid);
  const ticks = children.reduce((sum, times) => sum + times.own, main.own + main.ofEnded);
  return (ticks / ticksPerSecond) * 1_000;
}

interface Times {
  readonly parent: number;
  readonly own: number;
  readonly ofEnded: number;
}

/** The name of the program, in brackets, may hold anything; the fields are counted from behind it. */
function readTimes(pid: number): Times | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const field = (number: number): number => Number(fields[number - 3]);
    return { parent: field(4), own: field(14) + field(15), ofEnded: field(16) + field(17) };
  } catch {
    // It has ended, or there is no /proc.
    return null;
  }
}
