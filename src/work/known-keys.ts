import { defaults } from "../settings.js";

/** A key that this claimer has worked on. */
export interface KnownKey {
  readonly key: string;
  readonly bucket: number;
  /** Up to here no row of it is left, nor can one appear. */
  readonly floor: bigint;
  /** Up to here no row of it was left when it was claimed; one that commits late may have appeared since. */
  readonly doneTo: bigint;
  /** The turn of its bucket in which that was so. */
  readonly turn: bigint;
}

interface Memory {
  readonly known: KnownKey;
  /** Since when it has had nothing. */
  readonly emptySinceMs: number;
}

/** Of the last passes. */
interface Cost {
  readonly tookMs: number;
  readonly rows: number;
}

/**
 * Keys that this worker has run out of, with the seq up to which they are done: asked for directly they cost the same whatever lies below. Walking from the
 * front costs more and more while somebody's old snapshot keeps vacuum from removing what is finished (231 ms against 8 for 1 000 rows after 400 000 jobs).
 *
 * While both cost about the same the worker walks, so that every key gets its turn. Once walking is dearer by half it is left a tenth of the time. All
 * of it is for speed: what a remembered seq hides is found by the walk, and the claim itself makes sure that nobody else has taken rows meanwhile.
 */
export class KnownKeys {
  readonly #keys = new Map<string, Memory>();
  #walks: Cost = { tookMs: 0, rows: 0 };
  #asks: Cost = { tookMs: 0, rows: 0 };
  #passes = 0;
  #walkedAtMs = 0;
  #lastWalkMs = 0;
  /** The last pass that asked for known keys was filled. */
  #areEnough = false;

  /** The last row in hand of a key has left, completed. */
  remember(known: KnownKey, nowMs: number): void {
    this.#keys.delete(known.key); // What was set last comes last.
    this.#keys.set(known.key, { known, emptySinceMs: nowMs });
    if (this.#keys.size <= defaults.knownKeysMax) return;
    for (const oldest of this.#keys.keys()) {
      this.#keys.delete(oldest);
      break;
    }
  }

  forget(key: string): void {
    this.#keys.delete(key);
  }

  /** What is remembered of these. */
  of(keys: Iterable<string>): readonly KnownKey[] {
    const known: KnownKey[] = [];
    for (const key of keys) {
      const memory = this.#keys.get(key);
      if (memory !== undefined) known.push(memory.known);
    }
    return known;
  }

  /** At most so many keys to ask for now, none of them in these buckets; none at all when it is time to walk. */
  next(nowMs: number, keysMax: number, besides: ReadonlySet<number> = new Set()): readonly KnownKey[] {
    this.#passes++;
    if (this.#keys.size < defaults.spanBucketsMin || !this.#isWorth(nowMs)) return [];
    const known: KnownKey[] = [];
    for (const memory of this.#keys.values()) {
      if (besides.has(memory.known.bucket)) continue;
      known.push(memory.known);
      if (known.length >= keysMax) break;
    }
    return known;
  }

  /** These were asked for, visited, and had nothing: they come last now, and after a while they are left to the walk. */
  missed(keys: readonly KnownKey[], nowMs: number): void {
    for (const { key } of keys) {
      const memory = this.#keys.get(key);
      if (memory === undefined) continue;
      this.#keys.delete(key);
      if (nowMs - memory.emptySinceMs < defaults.knownIdleMs) this.#keys.set(key, memory);
    }
  }

  /** True while known keys bring all that can be taken, and walking would cost more. */
  get isWalkDear(): boolean {
    return this.#areEnough && this.#keys.size >= defaults.spanBucketsMin && this.#isDear();
  }

  /** While it is under way, the claim beside it need not walk, too. */
  noteWalkBegun(nowMs: number): void {
    this.#walkedAtMs = nowMs;
  }

  /** What a pass cost, and how many rows it brought. */
  noteCost(
    sort: "walk" | "known",
    cost: Cost & { readonly nowMs: number; readonly isFilled: boolean },
  ): void {
    const { tookMs, nowMs, isFilled } = cost;
    if (sort === "walk") {
      this.#walkedAtMs = nowMs;
      this.#lastWalkMs = tookMs;
      this.#walks = added(this.#walks, cost);
    } else {
      this.#areEnough = isFilled;
      this.#asks = added(this.#asks, cost);
    }
  }

  #isWorth(nowMs: number): boolean {
    if (!this.#isDear()) return this.#passes % triesEach === 0;
    const restMs = (this.#lastWalkMs * (1 - defaults.walkShare)) / defaults.walkShare;
    return nowMs - this.#walkedAtMs < restMs;
  }

  #isDear(): boolean {
    return eachMs(this.#walks) > eachMs(this.#asks) * dearer;
  }
}

/** Sums follow the last five passes or so; a pass counts by the time that it took and the rows that it brought, also when there were none. */
const kept = 0.8;
const dearer = 1.5;
/** While walking is as good, one pass in so many asks for known keys, to know what that would cost. */
const triesEach = 16;

function added(sum: Cost, { tookMs, rows }: Cost): Cost {
  return { tookMs: sum.tookMs * kept + tookMs, rows: sum.rows * kept + rows };
}

function eachMs({ tookMs, rows }: Cost): number {
  return tookMs / Math.max(1, rows);
}
