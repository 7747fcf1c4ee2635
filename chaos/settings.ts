/** What the parts of a chaos run agree on. */
export const schema = "chaos";
export const queueName = "inbox";
export const buckets = 48;
export const heartbeatMs = 1_000;
export const ttlMs = 4_000;
export const leaseMs = 5_000;
/** How far the server's clock is off at most, either way. */
export const clockOffsetMs = 20_000;
export const keysCount = 64;
/** Keys that are sent much more, and on which some transactions commit late. */
export const hotKeysCount = 2;
/** At most: a hot key is one stream, which long work would choke. */
export const hotWorkMs = 12;
export const maxAttempts = 20;
/** Faults are so frequent here that a job which harms nobody meets several. */
export const maxCrashes = 20;

/** What a handler is told to do. */
export interface ChaosJob {
  readonly workMs: number;
  readonly failures: number;
  readonly effect: "none" | "once" | "fenced";
  /** It ends as a dead letter, each time. */
  readonly isDoomed?: boolean;
}

export interface ChaosJobs {
  readonly [kind: string]: ChaosJob;
  readonly work: ChaosJob;
  /** Sent, redriven and discarded by the operator in hundreds. */
  readonly bulk: ChaosJob;
}

export interface WorkerTask {
  /** Such as `a#2`: the second process of worker a. */
  readonly name: string;
  readonly workerId: string;
  readonly url: string;
  readonly sessionUrl: string;
  readonly journal: string;
}

/** For an actor of which there is one: the operator, and who claims by hand. */
export interface ActorTask {
  readonly name: string;
  readonly url: string;
  readonly journal: string;
  readonly seed: number;
}

export interface ProducerTask {
  readonly name: string;
  readonly url: string;
  readonly journal: string;
  readonly producers: number;
  /** How many of them hold transactions on hot keys open; none in a strict queue, where everybody else would wait. */
  readonly lateProducers: number;
  readonly jobsPerSecond: number;
  readonly seed: number;
}
