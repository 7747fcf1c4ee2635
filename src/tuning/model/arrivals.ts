import type { QualifiedWorkload } from "../inputs.js";
import type { Dice } from "./dice.js";

const burstShare = 0.1;
const cycleMs = 10_000;

/**
 * When jobs are enqueued: independently of each other at the average rate; or, when there is a peak, in cycles of 10 s of which the last second or more runs at the
 * peak, so that the average comes out.
 */
export function arrivalTimes(
  { jobsPerSecond, peakJobsPerSecond }: QualifiedWorkload,
  dice: Dice,
  limits: { readonly endMs: number; readonly jobsMax: number },
): Float64Array {
  const burst = Math.min(burstShare, jobsPerSecond / peakJobsPerSecond);
  const calm = Math.max(0, (jobsPerSecond - burst * peakJobsPerSecond) / (1 - burst));
  const isFlat = peakJobsPerSecond <= jobsPerSecond;
  const times: number[] = [];
  for (let atMs = dice.gapMs(peakJobsPerSecond); atMs < limits.endMs && times.length < limits.jobsMax; ) {
    const isBurst = atMs % cycleMs >= cycleMs * (1 - burst);
    // Thinning: draws at the peak's rate, and keeps as many as the rate of the moment is of it.
    const share = isFlat || isBurst ? 1 : calm / peakJobsPerSecond;
    if (share === 1 || dice.fraction() < share) times.push(atMs);
    atMs += dice.gapMs(peakJobsPerSecond);
  }
  return Float64Array.from(times);
}
