import { buildRing, type Ring, type RingMember, type RingSettings } from "./ring.js";

/** A member of a ring, and the kinds of jobs that it has handlers for; null for all. */
export interface SkilledMember extends RingMember {
  readonly kinds: readonly string[] | null;
}

/**
 * Who tries a bucket besides its owner. During a rolling deploy the owner of a bucket may lack a kind that others have. For each such kind the bucket has a second owner among the
 * workers that have it: the owner in a ring of these alone. Claims leave out kinds that the worker lacks.
 */
export function secondOwners(
  ring: Ring,
  members: readonly SkilledMember[],
  settings: RingSettings,
): ReadonlyMap<string, ReadonlySet<number>> {
  const buckets = new Map<string, Set<number>>();
  for (const group of groupsByKind(members)) {
    const ids = new Set(group.map(({ id }) => id));
    const second = buildRing(group, ring.owners.length, settings);
    second.owners.forEach((owner, bucket) => {
      const first = ring.owners[bucket] ?? null;
      if (owner === null || (first !== null && ids.has(first))) return;
      const owned = buckets.get(owner) ?? new Set<number>();
      owned.add(bucket);
      buckets.set(owner, owned);
    });
  }
  return buckets;
}

/** The members that have a kind which not all have; each such group once. */
function groupsByKind(members: readonly SkilledMember[]): readonly (readonly SkilledMember[])[] {
  const kinds = new Set(members.flatMap((member) => member.kinds ?? []));
  const groups = new Map<string, readonly SkilledMember[]>();
  for (const kind of kinds) {
    const group = members.filter((member) => member.kinds?.includes(kind) ?? true);
    if (group.length < members.length) groups.set(JSON.stringify(group.map(({ id }) => id)), group);
  }
  return [...groups.values()];
}
