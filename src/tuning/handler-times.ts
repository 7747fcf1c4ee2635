/**
 * Handler times as a log-normal distribution with the given median and 99th percentile, cut at three times the latter, so that a wide spread does not put
 * most of the work into a few handlers of hours.
 */
export interface HandlerTimes {
  readonly meanMs: number;
  /** Variance over the square of the mean. */
  readonly variation: number;
  /** A handler's time from a number of the standard normal distribution. */
  sample(normal: number): number;
  /** How likely a running handler, seen at a random moment, takes longer than this from then on. */
  remainsBeyond(ms: number): number;
}

/** 99 % of a standard normal distribution are below it. */
const normalP99 = 2.3263;
const cutAtP99s = 3;

export function handlerTimes(p50Ms: number, p99Ms: number): HandlerTimes {
  const sigma = Math.log(p99Ms / p50Ms) / normalP99;
  const cutMs = p99Ms * cutAtP99s;
  const isFixed = sigma < 1e-6;
  /** The expectation of X^power over X > ms, without the cut. */
  const momentBeyond = (power: number, ms: number): number =>
    p50Ms ** power *
    Math.exp((power * power * sigma * sigma) / 2) *
    normalShare((power * sigma * sigma - Math.log(ms / p50Ms)) / sigma);
  const beyond = (power: number, ms: number): number => {
    if (isFixed) return ms < p50Ms ? p50Ms ** power : 0;
    if (ms >= cutMs) return 0;
    const from = ms <= 0 ? 1e-9 : ms;
    return momentBeyond(power, from) - momentBeyond(power, cutMs) + cutMs ** power * momentBeyond(0, cutMs);
  };
  const meanMs = beyond(1, 0);
  return {
    meanMs,
    variation: Math.max(0, beyond(2, 0) / (meanMs * meanMs) - 1),
    sample: (normal) => Math.min(cutMs, p50Ms * Math.exp(sigma * normal)),
    remainsBeyond: (ms) => Math.max(0, Math.min(1, (beyond(1, ms) - ms * beyond(0, ms)) / meanMs)),
  };
}

/** The share of a standard normal distribution below x (Abramowitz and Stegun 26.2.17, error below 1e-7). */
function normalShare(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const series =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const upper = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * series;
  return x >= 0 ? 1 - upper : upper;
}
