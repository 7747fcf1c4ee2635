import { consistent } from "./consistent.js";
import { rendezvous, type Sharing } from "./rendezvous.js";

export interface RingMember {
  readonly id: string;
  readonly region: string | null;
}

export interface RingSettings {
  readonly ring: "rendezvous" | "consistent";
  readonly hash: "fnv1a-fmix32";
  /** Points of each worker on a consistent ring; a rendezvous ring has none. */
  readonly vnodes: number;
  /** While a worker of these regions is alive, only such workers own buckets. */
  readonly preferRegions: readonly string[];
  /** Workers of these regions never own buckets. */
  readonly excludeRegions: readonly string[];
}

/** Who owns which bucket. It only decides who tries: two workers that see different rings still can't both hold a row. */
export interface Ring {
  /** Live workers that may own buckets, sorted by id. */
  readonly members: readonly string[];
  /** The owner of each bucket; null when nobody may own it. */
  readonly owners: readonly (string | null)[];
}

/** Depends on nothing but what it is given, and not on its order, so that workers with the same view have the same ring. */
export function buildRing(members: readonly RingMember[], buckets: number, settings: RingSettings): Ring {
  const ids = eligible(members, settings);
  const items = Array.from({ length: buckets }, (_, bucket) => `${bucket}`);
  const sharing = { items, workers: ids, perWorkerMax: ringLimit(buckets, ids.length) };
  const workerOf = shared(sharing, settings);
  return Object.freeze({
    members: Object.freeze(ids),
    owners: Object.freeze(items.map((bucket) => workerOf.get(bucket) ?? null)),
  });
}

/** The buckets of a worker, ascending. */
export function bucketsOf(ring: Ring, workerId: string): readonly number[] {
  return Object.freeze(ring.owners.flatMap((owner, bucket) => (owner === workerId ? [bucket] : [])));
}

/**
 * The most buckets that one worker may own: a tenth more than an even share, rounded up, so that there is always room for all.
 * In whole numbers, since 1.1 * 360 / 4 is a little over 99 in floating point and would be rounded to 100.
 */
export function ringLimit(buckets: number, workers: number): number {
  return workers === 0 ? 0 : Math.ceil((11 * buckets) / (10 * workers));
}

/** An id that is reported twice counts once, and is barred when either report is from an excluded region. */
function eligible(members: readonly RingMember[], settings: RingSettings): readonly string[] {
  const isIn = (regions: readonly string[], { region }: RingMember): boolean =>
    region !== null && regions.includes(region);
  const barred = new Set(
    members.filter((member) => isIn(settings.excludeRegions, member)).map(({ id }) => id),
  );
  const rest = members.filter(({ id }) => !barred.has(id));
  const preferred = rest.filter((member) => isIn(settings.preferRegions, member));
  const owning = preferred.length > 0 ? preferred : rest;
  return [...new Set(owning.map(({ id }) => id))].sort();
}

function shared(sharing: Sharing, { ring, vnodes }: RingSettings): ReadonlyMap<string, string> {
  switch (ring) {
    case "rendezvous":
      return rendezvous(sharing);
    case "consistent":
      return consistent(sharing, vnodes);
    default:
      return ring satisfies never;
  }
}
