/** Much shorter than the defaults, so that everything can be watched within a minute. */
export const heartbeatMs = 1_000;
export const ttlMs = 5_000;

/** Ten processes that start at once on a small machine come one after another. */
export const startupMs = 2_500;

export function tenantNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `tenant-${String(n + 1).padStart(5, "0")}`);
}
