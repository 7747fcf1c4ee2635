/** How tenants are spread over workers. */
export interface Spread {
  readonly tenants: number;
  readonly perWorker: Readonly<Record<string, number>>;
  readonly fewest: number;
  readonly most: number;
  /** How far the furthest worker is from an even share, as a part of that share. */
  readonly deviation: number;
  /** Everybody is as close to an even share as a supervisor keeps them: within a twentieth, as whole numbers allow. */
  readonly isEven: boolean;
}

const toleratedShare = 0.05;

export function spreadOf(owners: ReadonlyMap<string, string>, workers: readonly string[]): Spread {
  const counts = new Map(workers.map((id) => [id, 0]));
  for (const owner of owners.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  const even = owners.size / Math.max(1, counts.size);
  const fewest = Math.min(...counts.values());
  const most = Math.max(...counts.values());
  return {
    tenants: owners.size,
    perWorker: Object.fromEntries(counts),
    fewest,
    most,
    deviation: even === 0 ? 0 : Math.max(most - even, even - fewest) / even,
    isEven:
      fewest >= Math.floor(even * (1 - toleratedShare) + 1e-9) &&
      most <= Math.ceil(even * (1 + toleratedShare) - 1e-9),
  };
}
