import { hash32, mix32 } from "./hash.js";
import { type Sharing, shareOut } from "./rendezvous.js";

const itemSeed = 4;
const workerSeed = 5;

/** 2 ** 32 divided by the golden ratio: multiples of it stay far apart, however many there are. */
const stride = 0x9e3779b9;

/**
 * The worker of each item by consistent hashing: items and virtual nodes are points on a circle of 2 ** 32, and an item goes to
 * the first worker clockwise. Of the items that want a full worker the nearest stay and the others go on to the next worker.
 * Who stays is decided by distance and not by the order of the items, because then a worker that comes or goes pushes fewer on.
 */
export function consistent(sharing: Sharing, vnodes: number): ReadonlyMap<string, string> {
  return shareOut(sharing, (items, workers) => {
    const circle = circleOf(workers, vnodes);
    const scores = new Float64Array(items.length * workers.length).fill(Number.NEGATIVE_INFINITY);
    for (const [index, item] of items.entries()) {
      const row = scores.subarray(index * workers.length, (index + 1) * workers.length);
      scoreByDistance(row, pointOf(item), circle);
    }
    return scores;
  });
}

/** Where an item lies on the circle, from 0 to 2 ** 32 - 1. */
export function pointOf(item: string): number {
  return hash32(item, itemSeed);
}

interface Vnode {
  readonly point: number;
  /** The place of its worker among the sorted workers. */
  readonly worker: number;
}

/** All virtual nodes, clockwise. A worker's points are a sequence that starts at its hash, which is as even as a hash for each. */
function circleOf(workers: readonly string[], vnodes: number): readonly Vnode[] {
  const circle = workers.flatMap((id, worker) => {
    const start = hash32(id, workerSeed);
    return Array.from(
      { length: vnodes },
      (_, index): Vnode => ({ point: mix32(start + Math.imul(index, stride)), worker }),
    );
  });
  return circle.sort((left, right) => left.point - right.point || left.worker - right.worker);
}

/** Walks clockwise until it has met every worker. A nearer worker scores higher, and only its nearest virtual node counts. */
function scoreByDistance(row: Float64Array, point: number, circle: readonly Vnode[]): void {
  const start = firstAtOrAfter(circle, point);
  let unmet = row.length;
  for (let step = 0; step < circle.length && unmet > 0; step++) {
    const vnode = circle[(start + step) % circle.length];
    if (vnode === undefined || row[vnode.worker] !== Number.NEGATIVE_INFINITY) continue;
    row[vnode.worker] = -((vnode.point - point) >>> 0);
    unmet -= 1;
  }
}

/** How many virtual nodes lie before the point, by halving. */
function firstAtOrAfter(circle: readonly Vnode[], point: number): number {
  let low = 0;
  let high = circle.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((circle[middle]?.point ?? 0) < point) low = middle + 1;
    else high = middle;
  }
  return low;
}
