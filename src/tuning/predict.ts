import { type OptionNames, withKnownNames } from "../option-names.js";
import { defaults, wholeNumber } from "../settings.js";
import { costs } from "./costs.js";
import type { Facts } from "./facts.js";
import type { Cluster, Workload } from "./inputs.js";
import type { Limit } from "./limits.js";
import { arrivalTimes } from "./model/arrivals.js";
import { Dice } from "./model/dice.js";
import { Fleet } from "./model/fleet.js";
import { Lane } from "./model/lane.js";
import { Timeline } from "./model/timeline.js";
import { completeSettings, factsOf } from "./recommend.js";
import type { TuningSettings } from "./tuning-settings.js";

export interface PredictOptions {
  /** The same seed gives the same prediction; 1. */
  readonly seed?: number;
  /** How much virtual time; 60. Less when that would be more than 200 000 jobs. */
  readonly seconds?: number;
  /** One worker crashes then. */
  readonly crashAtSeconds?: number;
}

/** Lag: milliseconds from the enqueue to the start of the handler. */
export interface LagFigures {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LagSlice extends LagFigures {
  readonly fromSecond: number;
  /** Enqueued in this slice. */
  readonly jobs: number;
}

export interface Prediction {
  readonly settings: TuningSettings;
  readonly seed: number;
  /** Virtual time that was gone through. */
  readonly seconds: number;
  readonly jobs: number;
  /** Enqueued and not started at the end; their lag so far counts. */
  readonly waiting: number;
  readonly lag: LagFigures & { readonly maxMs: number };
  readonly slices: readonly LagSlice[];
  /** The share of the time, 0 to 1, that each was busy; the process of Node and the key are the busiest of theirs. */
  readonly busy: Readonly<Record<Exclude<Limit["resource"], "connections">, number>>;
}

const optionNames: OptionNames<PredictOptions> = Object.freeze({
  seed: true,
  seconds: true,
  crashAtSeconds: true,
});

/**
 * How long jobs would wait, by a model on virtual time: arrivals, handler times and keys are drawn from the seed, claims, settles and polls cost what costs.ts says. Pure, and
 * the same for the same input. docs/tuning.md compares it with measured runs and says what it leaves out.
 */
export function predict(
  cluster: Cluster,
  workload: Workload,
  settings: Partial<TuningSettings> = {},
  given: PredictOptions = {},
): Prediction {
  const options = withKnownNames("predict()", given, optionNames);
  const facts = factsOf(cluster, workload);
  const seed = wholeNumber("seed", options.seed, { fallback: 1, min: 0, max: 4_294_967_295 });
  const wanted = wholeNumber("seconds", options.seconds, {
    fallback: 60,
    min: 1,
    max: defaults.modelSecondsMax,
  });
  const crash = { fallback: Number.POSITIVE_INFINITY, min: 0, max: wanted };
  const crashAtSeconds = wholeNumber("crashAtSeconds", options.crashAtSeconds, crash);
  const seconds = Math.max(1, Math.min(wanted, defaults.modelJobsMax / facts.workload.jobsPerSecond));
  return new Run(facts, completeSettings(facts, settings), { seed, seconds, crashAtSeconds }).go();
}

interface Plan {
  readonly seed: number;
  readonly seconds: number;
  readonly crashAtSeconds: number;
}

/** One run of the model. */
class Run {
  readonly #facts: Facts;
  readonly #settings: TuningSettings;
  readonly #plan: Plan;
  readonly #timeline = new Timeline();
  readonly #enqueuedAtMs: Float64Array;
  readonly #startedAtMs: Float64Array;
  readonly #lines: Int32Array;
  readonly #handlerDice: Dice;
  #hotMs = 0;

  constructor(facts: Facts, settings: TuningSettings, plan: Plan) {
    this.#facts = facts;
    this.#settings = settings;
    this.#plan = plan;
    this.#handlerDice = new Dice(plan.seed + 2);
    const limits = { endMs: plan.seconds * 1_000, jobsMax: defaults.modelJobsMax };
    this.#enqueuedAtMs = arrivalTimes(facts.workload, new Dice(plan.seed + 3), limits);
    this.#startedAtMs = new Float64Array(this.#enqueuedAtMs.length).fill(-1);
    this.#lines = linesOf(facts, this.#enqueuedAtMs.length, new Dice(plan.seed + 4));
  }

  go(): Prediction {
    const { workload } = this.#facts;
    const { seed, seconds, crashAtSeconds } = this.#plan;
    const timeline = this.#timeline;
    const how = { settings: this.#settings, seed, started: (job: number) => this.#start(job) };
    const fleet = new Fleet(timeline, this.#facts, how);
    for (const worker of fleet.workers) worker.start();
    const enqueue = { rowMs: costs.enqueueUs[workload.order] / 1_000, rowsMax: defaults.enqueueBatchRowsMax };
    const producer = new Lane(fleet.database, enqueue, (jobs) => {
      for (const job of jobs) {
        const line = this.#lines[job] ?? 0;
        fleet.ownerOf(line)?.arrived(line, job);
      }
    });
    this.#scheduleArrival(0, producer);
    if (crashAtSeconds < seconds) timeline.at(crashAtSeconds * 1_000, () => fleet.crashFirst());
    timeline.runUntil(seconds * 1_000);
    return this.#result(fleet);
  }

  /** One at a time, so that the timeline stays short. */
  #scheduleArrival(job: number, producer: Lane): void {
    const atMs = this.#enqueuedAtMs[job];
    if (atMs === undefined) return;
    this.#timeline.at(atMs, () => {
      producer.add(job);
      this.#scheduleArrival(job + 1, producer);
    });
  }

  #start(job: number): number {
    // A job of a crashed worker starts again: the first start counts.
    if ((this.#startedAtMs[job] ?? 0) < 0) this.#startedAtMs[job] = this.#timeline.nowMs;
    const tookMs = this.#facts.times.sample(this.#handlerDice.normal());
    if (this.#facts.workload.order === "key" && this.#lines[job] === 0)
      this.#hotMs += tookMs + this.#facts.cluster.statementP50Ms;
    return tookMs;
  }

  #result(fleet: Fleet): Prediction {
    const { seed, seconds } = this.#plan;
    const endMs = seconds * 1_000;
    const lags = this.#enqueuedAtMs.map((atMs, job) => {
      const startedAtMs = this.#startedAtMs[job] ?? -1;
      return (startedAtMs < 0 ? endMs : startedAtMs) - atMs;
    });
    const { workers, concurrency } = this.#settings;
    const handlerMs = fleet.workers.reduce((sum, worker) => sum + worker.handlerMs, 0);
    const node = Math.max(...fleet.workers.map((worker) => worker.nodeMs));
    return Object.freeze({
      settings: this.#settings,
      seed,
      seconds,
      jobs: lags.length,
      waiting: this.#startedAtMs.filter((atMs) => atMs < 0).length,
      lag: Object.freeze({ ...figuresOf(lags), maxMs: lags.reduce((most, ms) => Math.max(most, ms), 0) }),
      slices: this.#slices(lags),
      busy: Object.freeze({
        handlers: handlerMs / (workers * concurrency * endMs),
        database: fleet.database.busyMs / (this.#facts.cluster.databaseCores * endMs),
        node: node / endMs,
        hot_key: Math.min(1, this.#hotMs / endMs),
      }),
    });
  }

  #slices(lags: Float64Array): readonly LagSlice[] {
    const { seconds } = this.#plan;
    const count = Math.min(defaults.modelSlicesMax, Math.ceil(seconds));
    const eachMs = (seconds * 1_000) / count;
    let from = 0;
    return Object.freeze(
      Array.from({ length: count }, (_, n) => {
        let to = from;
        while (to < lags.length && (this.#enqueuedAtMs[to] ?? 0) < (n + 1) * eachMs) to++;
        const slice = lags.slice(from, to);
        from = to;
        return Object.freeze({ fromSecond: (n * eachMs) / 1_000, jobs: slice.length, ...figuresOf(slice) });
      }),
    );
  }
}

/** Which line each job is in: 0 is the hottest key. Without order each job is a line of its own. */
function linesOf({ workload }: Facts, jobs: number, dice: Dice): Int32Array {
  const { order, keys, hottestKeyShare } = workload;
  return Int32Array.from({ length: jobs }, (_, job) => {
    if (order === "none") return job;
    if (keys === 1 || dice.fraction() < hottestKeyShare) return 0;
    return 1 + dice.whole(keys - 1);
  });
}

function figuresOf(lags: Float64Array): LagFigures {
  const sorted = lags.toSorted();
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
