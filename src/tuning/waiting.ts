import type { HandlerTimes } from "./handler-times.js";

/**
 * How likely a job waits longer than `ms` for one of `slots`, when they get `load` jobs' worth of work at a time: Erlang C with the Allen-Cunneen correction for
 * handler times that are not exponential. 1 when the slots can't keep up.
 */
export function waitsForSlot(load: number, slots: number, times: HandlerTimes, ms: number): number {
  if (load >= slots) return 1;
  const meanMs = (times.meanMs * (1 + times.variation)) / 2;
  return allBusy(load, slots) * Math.exp((-(slots - load) * ms) / meanMs);
}

/** The same for a line that runs one job at a time, with a gap between two. A job behind a long one waits for the rest of it, whatever the formula says. */
export function waitsInLine(
  jobsPerSecond: number,
  times: HandlerTimes,
  { gapMs, ms }: { readonly gapMs: number; readonly ms: number },
): number {
  const busy = lineBusy(jobsPerSecond, times, gapMs);
  if (busy >= 1) return 1;
  const serviceMs = times.meanMs + gapMs;
  const decay = Math.exp((-2 * (1 - busy) * ms) / (serviceMs * (1 + times.variation)));
  return busy * Math.max(decay, times.remainsBeyond(ms));
}

/** The share of the time that a line has a job running or being settled. */
export function lineBusy(jobsPerSecond: number, times: HandlerTimes, gapMs: number): number {
  return (jobsPerSecond * (times.meanMs + gapMs)) / 1_000;
}

/** Erlang C: how likely all slots are busy. */
function allBusy(load: number, slots: number): number {
  let blocked = 1;
  for (let n = 1; n <= slots; n++) blocked = (load * blocked) / (n + load * blocked);
  return blocked / (1 - (load / slots) * (1 - blocked));
}
