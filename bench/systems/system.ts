import type { BenchJob } from "../job.js";

/**
 * What a queue must be able to do to be measured. To add one: write a file beside this with a SystemKind, and list it in every-system.ts;
 * a package from npm also goes to bench/package.json and peers.js.
 */
export interface SystemKind {
  /** As `--systems` names it. */
  readonly id: string;
  readonly label: string;
  readonly store: StoreKind;
  readonly version: () => string;
  /** How it is set up for each workload; none for those that it can't do. */
  readonly variants: Readonly<Partial<Record<WorkloadId, readonly Variant[]>>>;
  open(url: string, variant: Variant): Promise<System>;
}

/** Redis is started with the flushing that its name says. */
export type StoreKind = "postgres" | "redis-everysec" | "redis-always";

export type WorkloadId = "B1" | "B2" | "B3" | "B4" | "B5" | "B6" | "B7" | "B8" | "B9" | "B10" | "B11" | "B12";

/** One way to run a system. The settings are used as they stand here, and printed. */
export interface Variant {
  /** Tells it from other variants on the same workload; empty when it is the only one. */
  readonly name: string;
  /** Whether jobs of one key must run one after the other, in order. */
  readonly order: "none" | "key";
  readonly settings: Settings;
}

type Settings = Readonly<Record<string, string | number | boolean>>;

/** A system in one process, connected. Child processes are ended hard, so there is nothing to close. */
export interface System {
  /** Makes its tables and its queue; called once for each store, by one process. */
  setup(): Promise<void>;
  enqueueOne(job: BenchJob): Promise<void>;
  /** In one call. */
  enqueueMany(jobs: readonly BenchJob[]): Promise<void>;
  /** Calls `handle` with the number of each job, until the process ends. */
  startWorker(handle: Handle): Promise<void>;
  /** Jobs whose completion has not been committed. */
  countUnfinished(): Promise<number>;
}

export type Handle = (n: number) => void | Promise<void>;
