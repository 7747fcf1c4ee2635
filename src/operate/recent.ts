import {
  type ClaimCause,
  type Counts,
  claimCauses,
  type Places,
  type RecentFigures,
} from "../work/figures.js";
import { durationBoundsMs, Histogram } from "../work/histogram.js";
import { type WorkerRow, worksOn } from "./workers.js";

/** Durations as percentiles; interpolated, and off by a fifth at most. Null where nothing was measured. */
export interface Durations {
  readonly count: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** What the live workers of a queue did in the last minute or two, as their heartbeats tell it. */
export interface RecentWork {
  readonly workers: number;
  readonly claims: Durations & { readonly rowsPerClaim: number | null };
  readonly claimsByCause: Readonly<Record<ClaimCause, Durations>>;
  /** Of all kinds that are told of. */
  readonly allHandlers: Durations;
  /** By kind. Each worker tells those of its kinds that ran most often. */
  readonly handlers: Readonly<Record<string, Durations>>;
  /** Added up over the workers, each over its own span. */
  readonly completedPerSecond: number;
  readonly retriedPerSecond: number;
  readonly deadLetteredPerSecond: number;
  /** In the time that is told of, not a second. */
  readonly leasesLost: number;
  readonly settlesRefused: number;
}

/** What of it a sample keeps: durations of all kinds together, since kinds come and go. */
export interface SampledWork {
  readonly workers: number;
  readonly completedPerSecond: number;
  readonly retriedPerSecond: number;
  readonly deadLetteredPerSecond: number;
  readonly claimP50Ms: number | null;
  readonly claimP99Ms: number | null;
  readonly handlerP50Ms: number | null;
  readonly handlerP99Ms: number | null;
}

export function sampledWork(work: RecentWork): SampledWork {
  const { workers, completedPerSecond, retriedPerSecond, deadLetteredPerSecond, claims, allHandlers } = work;
  const rates = { completedPerSecond, retriedPerSecond, deadLetteredPerSecond };
  const claimed = { claimP50Ms: claims.p50Ms, claimP99Ms: claims.p99Ms };
  return { workers, ...rates, ...claimed, handlerP50Ms: allHandlers.p50Ms, handlerP99Ms: allHandlers.p99Ms };
}

export function recentWorkOn(workers: readonly WorkerRow[], queue: string): RecentWork {
  const ofQueue = workers.filter((worker) => worksOn(worker, queue));
  return recentWork(ofQueue.flatMap(({ load }) => load.recent[queue] ?? []));
}

export function recentWork(told: readonly RecentFigures[]): RecentWork {
  const all = new Histogram(durationBoundsMs);
  const causes = new Map(claimCauses.map((cause) => [cause, new Histogram(durationBoundsMs)]));
  const kinds = new Map<string, Histogram>();
  const handled = new Histogram(durationBoundsMs);
  for (const { claims, handlers } of told) {
    for (const cause of claimCauses) {
      addPlaces(all, claims[cause]);
      addPlaces(causes.get(cause), claims[cause]);
    }
    for (const [kind, places] of Object.entries(handlers)) {
      const histogram = kinds.get(kind) ?? new Histogram(durationBoundsMs);
      kinds.set(kind, histogram);
      addPlaces(histogram, places);
      addPlaces(handled, places);
    }
  }
  const sum = (name: keyof Counts): number =>
    told.reduce((total, { counts }) => total + (counts[name] ?? 0), 0);
  const perSecond = (name: keyof Counts): number =>
    told.reduce(
      (total, { counts, spanMs }) => total + ((counts[name] ?? 0) * 1_000) / Math.max(1, spanMs),
      0,
    );
  return {
    workers: told.length,
    claims: { ...durationsOf(all), rowsPerClaim: all.count === 0 ? null : sum("claimedRows") / all.count },
    claimsByCause: Object.fromEntries(
      [...causes].map(([cause, histogram]) => [cause, durationsOf(histogram)]),
    ) as Record<ClaimCause, Durations>,
    allHandlers: durationsOf(handled),
    handlers: Object.fromEntries([...kinds].map(([kind, histogram]) => [kind, durationsOf(histogram)])),
    completedPerSecond: perSecond("completed"),
    retriedPerSecond: perSecond("retried"),
    deadLetteredPerSecond: perSecond("deadLettered"),
    leasesLost: sum("leasesLost"),
    settlesRefused: sum("refused"),
  };
}

/** Places come from the registry, where other versions of the library write too. */
function addPlaces(histogram: Histogram | undefined, places: Places | undefined): void {
  const known = (places ?? []).filter(([at]) => at >= 0 && at <= durationBoundsMs.length);
  histogram?.add(known, 0);
}

function durationsOf(histogram: Histogram): Durations {
  return { count: histogram.count, p50Ms: histogram.percentile(0.5), p99Ms: histogram.percentile(0.99) };
}
