import { ringLimit } from "../membership/ring.js";
import { defaults } from "../settings.js";
import { costs } from "./costs.js";
import type { Facts } from "./facts.js";
import type { QualifiedWorkload } from "./inputs.js";
import { jobNodeUs } from "./job-cost.js";
import { lineBusy, waitsForSlot, waitsInLine } from "./waiting.js";

/** A key that is busy for more of the time than this counts as hot. */
const hotBusyMin = 0.1;
/** How busy the other slots of its worker may be. */
const busyBesideHotMax = 0.5;

/** Buckets for so many workers: room for twice as many, since a queue keeps its number of buckets. */
export function bucketsFor(workers: number): number {
  return Math.min(defaults.bucketsMax, Math.max(defaults.buckets, 20 * workers));
}

/** The share of all jobs, those of the hottest key apart, that the busiest worker may get: its buckets, and by chance more keys than others. */
function busiestShare({ workload }: Facts, workers: number): number {
  const buckets = bucketsFor(workers);
  const ofBuckets = ringLimit(buckets, workers) / buckets;
  const byChance = workload.order === "key" ? 2 / Math.sqrt(workers * workload.keys) : 0;
  return Math.min(1, ofBuckets + byChance);
}

/** True when the busiest of these workers keeps up with the peak, with room for bursts, and 99.5 % of its jobs get a slot within the time. */
export function keepsUp(
  facts: Facts,
  fleet: { readonly workers: number; readonly concurrency: number },
  waitMs: number,
): boolean {
  const { cluster, workload, times } = facts;
  const isOrdered = workload.order === "key";
  const share = busiestShare(facts, fleet.workers);
  const others = workload.peakJobsPerSecond * (isOrdered ? 1 - workload.hottestKeyShare : 1);
  const load = (others * share * times.meanMs) / 1_000;
  // The hottest key takes one slot of its worker at most; with a single slot its own limit says all. Each of its jobs waits for a slot anew, so the others must leave more room.
  const hotBusy = isOrdered ? lineBusy(hotRate(workload), times, cluster.statementP50Ms) : 0;
  const isHot = hotBusy > hotBusyMin;
  const slots = fleet.concurrency > 1 && isHot ? fleet.concurrency - 1 : fleet.concurrency;
  if (load > slots * (isHot ? busyBesideHotMax : costs.busyMax)) return false;
  const jobsInNode = workload.peakJobsPerSecond * share;
  if (jobsInNode * jobNodeUs(workload) > 1_000_000 * costs.busyMax) return false;
  return waitsForSlot(load, slots, times, waitMs) <= 0.005;
}

/** The share of jobs that wait for longer than this behind others of their key. */
export function lateInLines({ cluster, workload, times }: Facts, ms: number): number {
  if (workload.order === "none") return 0;
  const { hottestKeyShare, keys, peakJobsPerSecond } = workload;
  const of = (jobsPerSecond: number): number =>
    waitsInLine(jobsPerSecond, times, { gapMs: cluster.statementP50Ms, ms });
  const hot = hottestKeyShare * of(hotRate(workload));
  if (keys === 1) return hot;
  return hot + (1 - hottestKeyShare) * of((peakJobsPerSecond * (1 - hottestKeyShare)) / (keys - 1));
}

export function hotRate({ peakJobsPerSecond, hottestKeyShare }: QualifiedWorkload): number {
  return peakJobsPerSecond * hottestKeyShare;
}
