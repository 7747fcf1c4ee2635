import { type Keys, keyOf } from "./job.js";

/** What a run did wrong: jobs that were not handled, handled again, started before an earlier one of their key, or while one was running. */
export interface Faults {
  readonly missing: number;
  readonly repeated: number;
  readonly disordered: number;
  readonly overlapping: number;
}

/** What one process handled: the numbers of the jobs in the order of their starts, and when each started. */
export interface WorkLog {
  readonly numbers: Int32Array;
  readonly startedMs: Float64Array;
  readonly overlapping: number;
}

export const noFaults: Faults = Object.freeze({ missing: 0, repeated: 0, disordered: 0, overlapping: 0 });

/** Order can be told for one process only, as all ordered workloads are. `expected` is null where the run was broken off on purpose. */
export function faultsOf(logs: readonly WorkLog[], keys: Keys, expected: number | null): Faults {
  const seen = new Set<number>();
  const latest = new Map<number, number>();
  let [repeated, disordered, overlapping] = [0, 0, 0];
  for (const log of logs) {
    overlapping += log.overlapping;
    for (const n of log.numbers) {
      if (seen.has(n)) repeated++;
      else seen.add(n);
      const key = keyOf(n, keys);
      if (key === null) continue;
      const before = latest.get(key) ?? -1;
      if (n < before) disordered++;
      else latest.set(key, n);
    }
  }
  return { missing: expected === null ? 0 : expected - seen.size, repeated, disordered, overlapping };
}

export function faultCount(faults: Faults): number {
  return Math.abs(faults.missing) + faults.repeated + faults.disordered + faults.overlapping;
}
