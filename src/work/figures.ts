import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";
import { durationBoundsMs, Histogram, rowBounds } from "./histogram.js";

/**
 * What made a worker claim. `wake`: a notification. `backlog`: it knows of more jobs than it holds. `settle`: a job of its own has left, so the next of its key may go. `poll`: its timer, also when
 * a job has fallen due. `change`: it has started, its buckets have changed, or a claim has failed.
 */
export type ClaimCause = "wake" | "backlog" | "settle" | "poll" | "change";
export const claimCauses: readonly ClaimCause[] = Object.freeze([
  "wake",
  "backlog",
  "settle",
  "poll",
  "change",
]);

/** What was counted since the worker started. */
export interface Counts {
  claimedRows: number;
  completed: number;
  retried: number;
  deadLettered: number;
  released: number;
  /** Settles that changed nothing, because the row belongs to somebody else now. */
  refused: number;
  renewed: number;
  leasesLost: number;
  ringChanges: number;
}

/** A duration is told to the registry as places in `durationBoundsMs` and counts. */
export type Places = readonly (readonly [at: number, count: number])[];

/** The last minute or two of a worker on a queue, as its heartbeat tells it. */
export interface RecentFigures {
  readonly spanMs: number;
  readonly claims: Readonly<Partial<Record<ClaimCause, Places>>>;
  readonly handlers: Readonly<Record<string, Places>>;
  readonly counts: Readonly<Partial<Counts>>;
}

/** Kinds beyond the limit are counted under this name. */
const otherKinds = "(other)";

/**
 * Counts and durations of one worker since it started. Each job costs it one search in a histogram, so it is always on: the registry, stats() and the metrics read the
 * same figures. The recent ones are the difference to a copy that is one to two minutes old.
 */
export class Figures {
  readonly claims: Readonly<Record<ClaimCause, Histogram>>;
  readonly rowsPerClaim: Histogram = new Histogram(rowBounds);
  readonly handlers: Map<string, Histogram> = new Map();
  readonly counts: Counts = noCounts();
  readonly #clock: Clock;
  #earlier: Mark;
  #later: Mark;

  constructor(clock: Clock) {
    this.#clock = clock;
    const histogram = (): Histogram => new Histogram(durationBoundsMs);
    this.claims = {
      wake: histogram(),
      backlog: histogram(),
      settle: histogram(),
      poll: histogram(),
      change: histogram(),
    };
    this.#earlier = this.#mark();
    this.#later = this.#earlier;
  }

  claimed(cause: ClaimCause, tookMs: number, rows: number): void {
    this.claims[cause].record(tookMs);
    this.rowsPerClaim.record(rows);
    this.counts.claimedRows += rows;
  }

  handled(kind: string, tookMs: number): void {
    this.#handlerOf(kind).record(tookMs);
  }

  count(name: keyof Counts, more = 1): void {
    this.counts[name] += more;
  }

  /** What happened since one to two minutes ago; of the kinds those that ran most often. */
  recent(): RecentFigures {
    this.#moveOn();
    const before = this.#earlier;
    const claims: Partial<Record<ClaimCause, Places>> = {};
    for (const cause of claimCauses) {
      const places = this.claims[cause].since(before.claims.get(cause) ?? []);
      if (places.length > 0) claims[cause] = places;
    }
    const handlers = [...this.handlers]
      .map(([kind, histogram]) => [kind, histogram.since(before.handlers.get(kind) ?? [])] as const)
      .filter(([, places]) => places.length > 0)
      .sort(([, one], [, other]) => total(other) - total(one))
      .slice(0, defaults.figuresKindsTold);
    const names = Object.keys(this.counts) as (keyof Counts)[];
    const counts = names
      .map((name) => [name, this.counts[name] - before.counts[name]] as const)
      .filter(([, more]) => more > 0);
    const spanMs = Math.round(this.#clock.monotonicMs() - before.atMs);
    return { spanMs, claims, handlers: Object.fromEntries(handlers), counts: Object.fromEntries(counts) };
  }

  #handlerOf(kind: string): Histogram {
    const known = this.handlers.get(kind);
    if (known !== undefined) return known;
    if (this.handlers.size >= defaults.figuresKindsMax && kind !== otherKinds)
      return this.#handlerOf(otherKinds);
    const histogram = new Histogram(durationBoundsMs);
    this.handlers.set(kind, histogram);
    return histogram;
  }

  #moveOn(): void {
    if (this.#clock.monotonicMs() - this.#later.atMs < defaults.figuresWindowMs) return;
    this.#earlier = this.#later;
    this.#later = this.#mark();
  }

  #mark(): Mark {
    return {
      atMs: this.#clock.monotonicMs(),
      claims: new Map(claimCauses.map((cause) => [cause, [...this.claims[cause].counts]])),
      handlers: new Map([...this.handlers].map(([kind, { counts }]) => [kind, [...counts]])),
      counts: { ...this.counts },
    };
  }
}

/** A copy of what had been counted at a time. */
interface Mark {
  readonly atMs: number;
  readonly claims: ReadonlyMap<ClaimCause, readonly number[]>;
  readonly handlers: ReadonlyMap<string, readonly number[]>;
  readonly counts: Readonly<Counts>;
}

function noCounts(): Counts {
  return {
    claimedRows: 0,
    completed: 0,
    retried: 0,
    deadLettered: 0,
    released: 0,
    refused: 0,
    renewed: 0,
    leasesLost: 0,
    ringChanges: 0,
  };
}

function total(places: Places): number {
  return places.reduce((sum, [, count]) => sum + count, 0);
}
