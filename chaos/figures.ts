import { percentile } from "../bench/percentile.js";
import type { Entry, Handled, Move } from "../simulation/entries.js";
import type { History } from "../simulation/history.js";
import { type Recovery, recoveriesOf } from "./recoveries.js";

const slowestMax = 20;

/** What a run comes to, in numbers. Pure. */
export interface Figures {
  readonly seconds: number;
  readonly acknowledged: number;
  readonly completed: number;
  readonly starts: number;
  /** Starts of a job that had started before, without an outcome of that attempt: something had happened to its process. */
  readonly repeated: number;
  readonly takenOver: number;
  /** From the end of a process to the next start of each job it had in hand. */
  readonly recoveryMs: {
    readonly p50: number;
    readonly p99: number;
    readonly max: number;
    readonly count: number;
  };
  /** The longest of these, with what each of them waited for. */
  readonly slowest: readonly Recovery[];
  /** From when nothing stood before a job to its start, first attempts only. */
  readonly waitMs: { readonly p50: number; readonly p99: number };
  readonly perSecond: readonly Second[];
}

export interface Second {
  readonly completed: number;
  readonly waitMs: number;
}

export function figuresOf({ entries }: History): Figures {
  const fromMs = entries[0]?.atMs ?? 0;
  const seconds = Math.ceil(((entries.at(-1)?.atMs ?? fromMs) - fromMs) / 1_000);
  const completions = entries.filter((entry): entry is Move => entry.is === "moved" && entry.to === null);
  const waits = waitsOf(entries);
  const slowest = [...recoveriesOf(entries)].sort((a, b) => b.ms - a.ms);
  const recoveries = slowest.map(({ ms }) => ms);
  const starts = entries.filter((entry): entry is Handled => entry.is === "started");
  const outcomes = outcomesOf(entries);
  const seen = new Set<string>();
  let repeated = 0;
  for (const { id } of starts) {
    if (seen.has(id) && !outcomes.delete(id)) repeated++;
    seen.add(id);
  }
  return {
    seconds,
    acknowledged: entries.filter((entry) => entry.is === "acknowledged").length,
    completed: completions.length,
    starts: starts.length,
    repeated,
    takenOver: entries.filter(isTakeover).length,
    slowest: slowest.slice(0, slowestMax),
    recoveryMs: {
      p50: roundedMs(recoveries, 0.5),
      p99: roundedMs(recoveries, 0.99),
      max: roundedMs(recoveries, 1),
      count: recoveries.length,
    },
    waitMs: {
      p50: roundedMs(
        waits.map((wait) => wait.ms),
        0.5,
      ),
      p99: roundedMs(
        waits.map((wait) => wait.ms),
        0.99,
      ),
    },
    perSecond: Array.from({ length: seconds }, (_, n) => {
      const isIn = ({ atMs }: { readonly atMs: number }): boolean =>
        Math.floor((atMs - fromMs) / 1_000) === n;
      return {
        completed: completions.filter(isIn).length,
        waitMs: Math.max(0, ...waits.filter(isIn).map((wait) => wait.ms)),
      };
    }),
  };
}

/** Jobs that went back with an outcome of their handler: their next start is a retry. */
function outcomesOf(entries: readonly Entry[]): Set<string> {
  const ids = new Set<string>();
  for (const entry of entries)
    if (
      entry.is === "moved" &&
      entry.from?.status === "processing" &&
      entry.to?.status === "pending" &&
      !isTakeover(entry)
    )
      ids.add(entry.id);
  return ids;
}

function isTakeover(entry: Entry): boolean {
  if (entry.is !== "moved" || entry.from?.status !== "processing" || entry.to === null) return false;
  return entry.to.status !== "processing" && entry.by.split("#")[0] !== entry.from.worker;
}

interface Wait {
  readonly atMs: number;
  readonly ms: number;
}

function waitsOf(entries: readonly Entry[]): readonly Wait[] {
  const readyAtMs = new Map<string, number>();
  const insertedAtMs = new Map<string, number>();
  const waits: Wait[] = [];
  for (const entry of entries) {
    if (entry.is === "moved" && entry.from === null) insertedAtMs.set(entry.id, entry.atMs);
    else if (entry.is === "moved" && entry.to === null) readyAtMs.set(entry.key, entry.atMs);
    else if (entry.is === "started") {
      const inserted = insertedAtMs.get(entry.id);
      insertedAtMs.delete(entry.id); // Its later attempts wait for other things.
      if (inserted !== undefined)
        waits.push({ atMs: entry.atMs, ms: entry.atMs - Math.max(inserted, readyAtMs.get(entry.key) ?? 0) });
    }
  }
  return waits;
}

function roundedMs(values: readonly number[], share: number): number {
  return values.length === 0 ? 0 : Math.round(percentile(values, share));
}
