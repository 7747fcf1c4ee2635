import { pointOf } from "./consistent.js";
import type { RingSettings } from "./ring.js";
import { itemHalves } from "./scores.js";

/**
 * Where a bucket lies on its ring, from 0 up to 1. On a consistent ring its owner is the first worker with room from there on. A rendezvous ring has no direction: there it is the
 * hash of the bucket, which is good for drawing buckets at places that do not change.
 */
export function ringPosition(bucket: number, ring: RingSettings["ring"]): number {
  const item = `${bucket}`;
  return (ring === "consistent" ? pointOf(item) : itemHalves(item).high) / 2 ** 32;
}
