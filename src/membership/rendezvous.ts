import { itemHalves, pairScore, workerHalves } from "./scores.js";

/** What is to be shared out, and among whom. A name that occurs twice counts once. */
export interface Sharing {
  readonly items: readonly string[];
  readonly workers: readonly string[];
  /** Nobody gets more items than this; Infinity sets no bound. */
  readonly perWorkerMax: number;
}

/**
 * The worker of each item by rendezvous hashing: every pair has a score of its own, and the highest score wins. Who joins takes
 * the items it scores best on and who leaves gives back its own, so without a bound nothing else moves; with one, some items
 * go where there is room. An item is missing from the result when every worker is full.
 */
export function rendezvous(sharing: Sharing): ReadonlyMap<string, string> {
  return shareOut(sharing, (items, workers) => {
    const workerHashes = workers.map(workerHalves);
    const scores = new Float64Array(items.length * workers.length);
    let pair = 0;
    for (const item of items.map(itemHalves)) {
      for (const worker of workerHashes) scores[pair++] = pairScore(item, worker);
    }
    return scores;
  });
}

/** One score for each pair, a row of all workers for each item. */
type ScoreAll = (items: readonly string[], workers: readonly string[]) => Float64Array;

/** Sorts both sides first, because equal scores are decided by place: the result must not depend on the order of the input. */
export function shareOut(sharing: Sharing, scoreAll: ScoreAll): ReadonlyMap<string, string> {
  const items = [...new Set(sharing.items)].sort();
  const workers = [...new Set(sharing.workers)].sort();
  if (workers.length === 0) return new Map();
  const places = stablePlaces(scoreAll(items, workers), workers.length, sharing.perWorkerMax);
  return new Map(
    items.flatMap((item, index) => {
      const worker = workers[places[index] ?? nobody];
      return worker === undefined ? [] : [[item, worker]];
    }),
  );
}

const nobody = -1;

/**
 * The stable matching: no item and worker would both rather have each other than what they got. It equals walking all pairs from
 * the highest score down and joining what is free, but sorts no pairs, which for 10 000 tenants would hold up the process:
 * each item asks its best worker, a worker with too many keeps its best, and who was turned down asks its next. Nobody asks
 * a worker twice, so the rounds end. A test holds it to the slow walk.
 */
export function stablePlaces(scores: Float64Array, workers: number, perWorkerMax: number): Int32Array {
  const places = new Int32Array(scores.length / workers).fill(nobody);
  const held: number[][] = Array.from({ length: workers }, () => []);
  let asking = [...places.keys()];
  while (asking.length > 0) {
    for (const item of asking) {
      const row = scores.subarray(item * workers, (item + 1) * workers);
      const worker = nextBest(row, places[item] ?? nobody);
      places[item] = worker;
      held[worker]?.push(item);
    }
    asking = held.flatMap((items, worker) => {
      if (items.length <= perWorkerMax) return [];
      const score = (item: number): number => scores[item * workers + worker] ?? 0;
      items.sort((left, right) => score(right) - score(left) || left - right);
      return items.splice(perWorkerMax);
    });
  }
  return places;
}

/** The worker that comes next after the last one asked, by score and then by place; nobody when all have been asked. */
function nextBest(row: Float64Array, last: number): number {
  const lastScore = row[last] ?? Number.POSITIVE_INFINITY;
  let best = nobody;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (let worker = 0; worker < row.length; worker++) {
    const score = row[worker] ?? 0;
    const isLeft = score < lastScore || (score === lastScore && worker > last);
    if (isLeft && score > bestScore) {
      best = worker;
      bestScore = score;
    }
  }
  return best;
}
