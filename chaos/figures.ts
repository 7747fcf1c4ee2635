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
  /** Starts of what was claimed by hand. */
  readonly byHand: number;
  readonly redriven: number;
  readonly discarded: number;
  /** Rows that committed below another of their key. */
  readonly lateCommits: number;
  /** From the end of a process to the next start of each job it had in hand. */
  readonly recoveryMs: Spread;
  /** The same while the claims of another worker were refused, and of what was claimed by hand. */
  readonly greyRecoveryMs: Spread;
  readonly byHandRecoveryMs: Spread;
  /** The longest of these, with what each of them waited for. */
  readonly slowest: readonly Recovery[];
  /** From when nothing stood before a job to its start, first attempts only. */
  readonly waitMs: { readonly p50: number; readonly p99: number };
  readonly perSecond: readonly Second[];
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly count: number;
}

export interface Second {
  readonly completed: number;
  readonly waitMs: number;
}

export function figuresOf({ entries }: History): Figures {
  const fromMs = entries[0]?.atMs ?? 0;
  const seconds = Math.ceil(((entries.at(-1)?.atMs ?? fromMs) - fromMs) / 1_000);
  const completions = entries.filter(
    (entry): entry is Move =>
      entry.is === "moved" && entry.to === null && entry.from?.status === "processing",
  );
  const waits = waitsOf(entries);
  const slowest = [...recoveriesOf(entries)].sort((a, b) => b.ms - a.ms);
  const starts = entries.filter((entry): entry is Handled => entry.is === "started");
  return {
    seconds,
    acknowledged: entries.filter((entry) => entry.is === "acknowledged").length,
    completed: completions.length,
    starts: starts.length,
    repeated: repeatedIn(entries),
    takenOver: entries.filter(isTakeover).length,
    byHand: starts.filter(({ process }) => process.startsWith("hand#")).length,
    redriven: entries.filter(isRedrive).length,
    discarded: entries.filter((entry) => entry.is === "archived" && entry.status === "discarded").length,
    slowest: slowest.slice(0, slowestMax),
    lateCommits: lateCommitsIn(entries),
    recoveryMs: spreadOf(slowest.filter(({ isByHand, greys }) => !isByHand && greys.length === 0)),
    greyRecoveryMs: spreadOf(slowest.filter(({ isByHand, greys }) => !isByHand && greys.length > 0)),
    byHandRecoveryMs: spreadOf(slowest.filter(({ isByHand }) => isByHand)),
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

function spreadOf(recoveries: readonly Recovery[]): Spread {
  const values = recoveries.map(({ ms }) => ms);
  return {
    p50: roundedMs(values, 0.5),
    p99: roundedMs(values, 0.99),
    max: roundedMs(values, 1),
    count: values.length,
  };
}

function lateCommitsIn(entries: readonly Entry[]): number {
  const highest = new Map<string, bigint>();
  let late = 0;
  for (const entry of entries) {
    if (entry.is !== "moved") continue;
    const before = highest.get(entry.key) ?? -1n;
    if (entry.from === null && entry.seq < before) late++;
    if (entry.seq > before) highest.set(entry.key, entry.seq);
  }
  return late;
}

function repeatedIn(entries: readonly Entry[]): number {
  /** Of each job that was started, whether that attempt has an outcome. */
  const hasOutcome = new Map<string, boolean>();
  let repeated = 0;
  for (const entry of entries) {
    if (entry.is === "started") {
      if (hasOutcome.get(entry.id) === false) repeated++;
      hasOutcome.set(entry.id, false);
    } else if (entry.is === "moved" && entry.from?.status === "processing" && !isTakeover(entry)) {
      if (entry.to?.status !== "processing" && hasOutcome.has(entry.id)) hasOutcome.set(entry.id, true);
    }
  }
  return repeated;
}

function isTakeover(entry: Entry): boolean {
  if (entry.is !== "moved" || entry.from?.status !== "processing" || entry.to === null) return false;
  return entry.to.status !== "processing" && entry.by.split("#")[0] !== entry.from.worker;
}

function isRedrive(entry: Entry): boolean {
  return entry.is === "moved" && entry.from?.status === "dead_letter" && entry.to?.status === "pending";
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
