/** 12,345 */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** 840 ms, 12.3 s */
export function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
