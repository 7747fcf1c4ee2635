import type { KnownKey } from "./known-keys.js";

export interface ClaimOptions {
  readonly workerId: string;
  /** Where to look; all buckets when left out. */
  readonly buckets?: readonly number[];
  /** Rows at most. */
  readonly limit?: number;
  /** Rows of one key at most. */
  readonly run?: number;
  /** How many of them may have attempts behind them (all, when left out). A loop that prefetches passes its free slots. */
  readonly retries?: number;
  /** How many of them may have crashed their worker twice or more (one, when left out). */
  readonly suspects?: number;
  readonly leaseMs?: number;
  /**
   * The tokens of what this worker holds. Its own rows under any other token are taken over: the answer to an earlier claim was
   * lost. Left out, nothing of its own is taken over, and a claim whose answer is lost is not repeated.
   */
  readonly knownTokens?: readonly bigint[];
}

/** What a worker adds to a claim by hand. */
export interface PassOptions extends ClaimOptions {
  /** Which of the buckets to look at this time, out of those in turn. */
  among?(buckets: readonly number[]): readonly number[];
  /** Where to begin in a bucket; where the last pass stopped, when left out. */
  afterOf?(bucket: number): string;
  /** Visit these keys and no others. */
  readonly known?: readonly KnownKey[];
  /** Under which the worker is registered; a process that another of its id has replaced is refused. */
  readonly generation?: bigint;
  /** A try may have taken rows, and its answer never came. */
  onUnsure?(): void;
  /** The turn in which this claimer left a bucket; only for one who remembers keys. */
  turnOf?(bucket: number): bigint;
}

/** What is claimed on a wake. */
export interface WokenOptions
  extends Pick<PassOptions, "workerId" | "turnOf" | "generation">,
    Required<Pick<ClaimOptions, "buckets" | "limit" | "run" | "leaseMs">> {}
