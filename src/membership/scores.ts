import { hash32, mix32 } from "./hash.js";

/** Two hashes of a name. */
export interface Halves {
  readonly high: number;
  readonly low: number;
}

/** Items and workers have seeds of their own: otherwise an item named like a worker would meet it at zero, the lowest score. */
export function itemHalves(item: string): Halves {
  return halves(item, 0);
}

export function workerHalves(worker: string): Halves {
  return halves(worker, 2);
}

function halves(text: string, seed: number): Halves {
  return { high: hash32(text, seed), low: hash32(text, seed + 1) };
}

/**
 * Two halves of 32 bits, of which a number holds 53 exactly. Each name is hashed once and a pair is only mixed: a hash over both
 * names for every pair spreads no better and takes many times as long.
 */
export function pairScore(item: Halves, worker: Halves): number {
  const high = mix32(item.high ^ worker.high);
  const low = mix32(item.low ^ worker.low);
  return high * 2 ** 21 + (low >>> 11);
}
