/** What the parts of a chaos run agree on. */
export const schema = "chaos";
export const queueName = "inbox";
export const buckets = 48;
export const heartbeatMs = 1_000;
export const ttlMs = 4_000;
export const leaseMs = 5_000;
export const keysCount = 64;
export const maxAttempts = 20;
/** Faults are so frequent here that a job which harms nobody meets several. */
export const maxCrashes = 20;

/** What a handler is told to do. */
export interface ChaosJob {
  readonly workMs: number;
  readonly failures: number;
  readonly effect: "none" | "once" | "fenced";
}

export interface WorkerTask {
  /** Such as `a#2`: the second process of worker a. */
  readonly name: string;
  readonly workerId: string;
  readonly url: string;
  readonly sessionUrl: string;
  readonly journal: string;
}

export interface ProducerTask {
  readonly name: string;
  readonly url: string;
  readonly journal: string;
  readonly producers: number;
  readonly jobsPerSecond: number;
  readonly seed: number;
}
