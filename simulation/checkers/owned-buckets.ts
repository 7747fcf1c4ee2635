import type { Checker, History, Violation } from "../history.js";
import { FaultsOf } from "./faults-of.js";

interface Watch {
  readonly faults: FaultsOf;
  readonly owned: Map<string, ReadonlySet<number>>;
  /** Since when each process that owns, or could own, something has been well. */
  readonly wellSinceMs: Map<string, number>;
  /** Since when a bucket has had no owner who is well. */
  readonly unownedSinceMs: (number | null)[];
  readonly violations: Violation[];
}

/** No bucket is without an owner who is well for longer than promised, while somebody has been well for all of that time. */
export const ownedBuckets: Checker = (history) => {
  const watch: Watch = {
    faults: new FaultsOf(),
    owned: new Map(),
    wellSinceMs: new Map(),
    unownedSinceMs: Array.from({ length: history.settings.buckets }, () => null),
    violations: [],
  };
  for (const entry of history.entries) {
    if (entry.is !== "fault" && entry.is !== "owned") continue;
    look(history, watch, entry.atMs);
    if (entry.is === "owned") watch.owned.set(entry.process, new Set(entry.buckets));
    else {
      watch.faults.apply(entry);
      if (entry.state === "gone") watch.owned.delete(entry.process);
    }
    note(watch, entry.atMs);
  }
  look(history, watch, history.entries.at(-1)?.atMs ?? 0);
  return watch.violations;
};

/** Which buckets have been without an owner for too long by now. Each is told once. */
function look(history: History, watch: Watch, nowMs: number): void {
  const limitMs = history.settings.ownedWithinMs;
  const wellMs = Math.max(0, ...[...watch.wellSinceMs.values()].map((sinceMs) => nowMs - sinceMs));
  for (const [bucket, sinceMs] of watch.unownedSinceMs.entries()) {
    if (sinceMs === null || Math.min(nowMs - sinceMs, wellMs) <= limitMs) continue;
    const message = `Bucket ${bucket} had no owner from ${Math.round(sinceMs)} ms until ${Math.round(nowMs)} ms, while somebody could have owned it.`;
    watch.violations.push({ checker: "owned buckets", message, about: [...watch.owned.keys()] });
    watch.unownedSinceMs[bucket] = null;
  }
}

function note({ faults, owned, wellSinceMs, unownedSinceMs }: Watch, nowMs: number): void {
  const wells = [...owned.keys()].filter((process) => faults.isWell(process));
  for (const process of wells) if (!wellSinceMs.has(process)) wellSinceMs.set(process, nowMs);
  for (const process of wellSinceMs.keys()) if (!wells.includes(process)) wellSinceMs.delete(process);
  for (const bucket of unownedSinceMs.keys()) {
    const isOwned = wells.some((process) => owned.get(process)?.has(bucket) === true);
    unownedSinceMs[bucket] = isOwned ? null : (unownedSinceMs[bucket] ?? nowMs);
  }
}
