import { bucketsOf } from "../../src/membership/ring.js";
import { type Fleet, now } from "./fleet.js";
import type { World } from "./world.js";

/** Until what every live process last said about its buckets is what the registry's ring says. */
export async function untilAgreed(world: World, fleet: Fleet): Promise<void> {
  const until = now() + 60_000;
  for (;;) {
    const ring = await world.lh.ring("inbox");
    const isAgreed = fleet.alive().every((one) => {
      const said = fleet.events.findLast((event) => event.worker === one.id && event.name === "ring:changed");
      return said?.event.owned === bucketsOf(ring, one.id).length;
    });
    if (isAgreed && ring.members.length === fleet.alive().length) return;
    if (now() > until) throw new Error("the workers do not agree on the ring");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Who owns each of these keys by the registry's ring. */
export async function ownersOf(
  world: World,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const { owners } = await world.lh.ring("inbox");
  const rows = await world.sql<{ key: string; bucket: number }>(
    "select key, leasehold.bucket_of(key, $2) as bucket from unnest($1::text[]) key",
    [keys, owners.length],
  );
  return new Map(rows.map(({ key, bucket }) => [key, owners[bucket] ?? null]));
}
