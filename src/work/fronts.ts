import { defaults } from "../settings.js";
import { ClaimedRow } from "./claimed-row.js";
import { LookSchedule } from "./look-schedule.js";

/** Where a pass begins in each bucket. */
export interface FrontPlan {
  readonly after: ReadonlyMap<number, string>;
  /** Buckets that are not looked at from where the last pass stopped. */
  readonly fronted: readonly number[];
  /** Those of them that are looked at from the very front. */
  readonly far: readonly number[];
}

/**
 * Where a queue without order was claimed to, bucket by bucket, so that a pass need not walk again over what is finished and not yet vacuumed.
 *
 *   position   the last row that was taken, or up to which a pass has found nothing for this worker: where a pass begins
 *   floor      the first unfinished row when somebody last looked, or a minute ago if there was none: where a pass begins once a second, every quarter of a minute at the least.
 *              Rows that were in process then and got lost, and more urgent ones, are found here
 *   front      the rest, such as a row that was inserted long before it was committed, is found from the very front: once a second, too, but less often where that has become
 *              dear: a twentieth of the time, once a minute at the least
 */
export class Fronts {
  readonly #floors = new Map<number, string>();
  readonly #near = new LookSchedule(defaults.floorMsMax);
  readonly #far = new LookSchedule(defaults.frontMsMax);
  #usualMs: number | null = null;
  /** What a pass takes at the least, on its way and back. */
  #leastMs = Number.POSITIVE_INFINITY;

  /** Forgets the positions of buckets that are due. Where rows may carry our name that we do not know of, nothing but the very front will do. */
  plan(
    buckets: readonly number[],
    positions: Map<number, string>,
    { nowMs, unsure }: { readonly nowMs: number; readonly unsure: Pick<ReadonlySet<number>, "has"> },
  ): FrontPlan {
    const far = new Set(this.#far.due(buckets, nowMs));
    for (const bucket of buckets) if (unsure.has(bucket)) far.add(bucket);
    for (const bucket of far) positions.delete(bucket);
    for (const bucket of this.#near.due(buckets, nowMs)) positions.delete(bucket);
    const after = new Map<number, string>();
    const fronted: number[] = [];
    for (const bucket of buckets) {
      const position = positions.get(bucket);
      if (position === undefined) fronted.push(bucket);
      after.set(bucket, position ?? `~${far.has(bucket) ? "" : (this.#floors.get(bucket) ?? "")}`);
    }
    return { after, fronted, far: fronted.filter((bucket) => after.get(bucket) === "~") };
  }

  /** Every bucket is due to be looked at from the very front. */
  lookAgain(): void {
    this.#far.reset();
  }

  /** After a pass that took so long, out of so many buckets that are owned. Without a plan it was for fresh rows, from the front, which leaves no positions while that is cheap. */
  note(
    pass: {
      readonly jobs: readonly ClaimedRow[];
      readonly fronts: ReadonlyMap<number, string>;
      readonly ends: ReadonlyMap<number, string>;
    },
    positions: Map<number, string>,
    how: {
      readonly plan: FrontPlan | null;
      readonly tookMs: number;
      readonly nowMs: number;
      readonly owned: number;
    },
  ): void {
    const { plan, tookMs, nowMs, owned } = how;
    if (plan !== null || this.#far.isDear) this.#keepPositions(pass.jobs, positions);
    if (plan === null) return;
    for (const [bucket, floor] of pass.fronts) this.#floors.set(bucket, floor);
    for (const [bucket, end] of pass.ends)
      if (isBefore(positions.get(bucket), end)) positions.set(bucket, end);
    this.#leastMs = Math.min(tookMs, this.#leastMs * slackened);
    const each = pass.jobs.length === 0 ? null : tookMs / pass.jobs.length;
    if (plan.fronted.length === 0) {
      if (each !== null)
        this.#usualMs = this.#usualMs === null ? each : this.#usualMs + weight * (each - this.#usualMs);
      return;
    }
    const moreMs = Math.max(0, tookMs - this.#leastMs - (this.#usualMs ?? each ?? 0) * pass.jobs.length);
    if (plan.far.length === 0) this.#near.note(plan.fronted, { moreMs, nowMs, owned });
    else {
      this.#far.note(plan.far, { moreMs, nowMs, owned });
      this.#near.putOff(plan.fronted, nowMs);
    }
  }

  #keepPositions(jobs: readonly ClaimedRow[], positions: Map<number, string>): void {
    for (const job of jobs) {
      const microseconds = Math.round(ClaimedRow.dueMsOf(job) * 1_000);
      positions.set(job.bucket, `${job.priority}:${microseconds}:${job.seq}`);
    }
  }
}

/** Both as priority:microseconds:seq, which have the order of the claim's index. */
function isBefore(position: string | undefined, end: string): boolean {
  if (position === undefined) return true;
  const [left, right] = [position.split(":").map(Number), end.split(":").map(Number)];
  const differs = left.findIndex((part, i) => part !== right[i]);
  return differs >= 0 && (left[differs] ?? 0) < (right[differs] ?? 0);
}

/** Averages follow the last five passes or so. */
const weight = 0.2;
/** The least follows a server that has become slower, in some thirty passes. */
const slackened = 1.02;
