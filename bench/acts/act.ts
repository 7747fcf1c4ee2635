import type { WorkLog } from "../faults.js";
import type { Keys } from "../job.js";
import type { System, Variant } from "../systems/system.js";

/** What a child process can be asked to do; each has a file in this folder. */
export interface Acts {
  /** Makes the tables and the queue. */
  setup: Act<null, null>;
  /** Bulk enqueue. */
  fill: Act<FillInput, Spent>;
  /** Concurrent callers enqueue one by one for a while. */
  enqueueFor: Act<EnqueueForInput, EnqueueForOutput>;
  /** Bulk enqueue for a while, held back by what the parent tells of the worker's progress. Answers how many jobs there are in all. */
  produce: Act<ProduceInput, number>;
  /** Starts a worker; how many it has handled comes as progress. */
  work: Act<{ readonly keys: Keys }, null>;
  workLog: Act<null, WorkLog & { readonly cpuMs: number }>;
  /** A worker, and a job at a steady pace: milliseconds from the call to the handler for each, and NaN for those that did not come. */
  latency: Act<LatencyInput, { readonly tookMs: Float64Array; readonly repeated: number }>;
  countUnfinished: Act<null, number>;
  /** Looks every few milliseconds whether unfinished jobs are left; answers when there were none, or null. */
  untilEmpty: Act<{ readonly limitMs: number }, number | null>;
  /** Leasehold only: milliseconds of each claim by hand; what was claimed is released in between. */
  claims: Act<ClaimsInput, Float64Array>;
  /** Leasehold only: idle workers, each with a connection and an id of its own. Their handlers do not come back. */
  crowd: Act<{ readonly workers: number }, null>;
}

export type Act<I, O> = (context: Context, input: I) => Promise<O>;

/** Where an act finds itself. */
export interface Context {
  readonly system: System;
  readonly url: string;
  readonly variant: Variant;
  /** Tells the parent how many jobs have been handled here. */
  report(handled: number): void;
  /** How many jobs have been handled elsewhere, as far as the parent has said. */
  readonly heard: { handled: number };
}

interface FillInput {
  readonly count: number;
  readonly keys: Keys;
  readonly inFlight: number;
}

export interface Spent {
  readonly ms: number;
  /** User and system time of the process. */
  readonly cpuMs: number;
}

interface EnqueueForInput {
  readonly callers: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  readonly keys: Keys;
  readonly delayMs?: number;
}

interface EnqueueForOutput {
  /** Calls that ended while it was measured. */
  readonly measured: number;
  /** Calls that ended at all. */
  readonly total: number;
  readonly ms: number;
}

interface ProduceInput {
  /** The number of the first job; those before it are in the queue already. */
  readonly first: number;
  readonly keys: Keys;
  readonly inFlight: number;
  readonly forMs: number;
  readonly backlogMax: number;
}

interface LatencyInput {
  readonly keys: Keys;
  readonly count: number;
  readonly everyMs: number;
}

interface ClaimsInput {
  readonly queue: string;
  readonly rows: number;
  readonly warmUp: number;
  readonly count: number;
}
