const behind = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** Milliseconds by the machine's monotonic clock, which all processes share. */
export function nowMs(): number {
  return performance.now() + behind;
}
