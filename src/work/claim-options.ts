import { InvalidOptionError } from "../errors.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import type { KnownKey } from "./known-keys.js";

export interface ClaimOptions {
  readonly workerId: string;
  /** Where to look; all buckets when left out. */
  readonly buckets?: readonly number[] | undefined;
  /** Rows at most. */
  readonly limit?: number | undefined;
  /** Rows of one key at most. */
  readonly run?: number | undefined;
  /** How many of them may have attempts behind them (all, when left out). A loop that prefetches passes its free slots. */
  readonly retries?: number | undefined;
  /** How many of them may have crashed their worker twice or more (one, when left out). */
  readonly suspects?: number | undefined;
  readonly leaseMs?: number | undefined;
  /** Only these kinds; in a queue with order a job of another kind holds its key. All kinds when left out. */
  readonly kinds?: readonly string[] | undefined;
  /**
   * The tokens of what this worker holds. Its own rows under any other token are taken over: the answer to an earlier claim was
   * lost. Left out, nothing of its own is taken over, and a claim whose answer is lost is not repeated.
   */
  readonly knownTokens?: readonly bigint[] | undefined;
}

/** The highest seq that had been drawn before a snapshot, and that snapshot's bounds. */
export interface Drawn {
  readonly seq: bigint;
  readonly xmin: bigint;
  readonly xmax: bigint;
}

const claimOptionNames: OptionNames<ClaimOptions> = Object.freeze({
  workerId: true,
  buckets: true,
  limit: true,
  run: true,
  retries: true,
  suspects: true,
  leaseMs: true,
  kinds: true,
  knownTokens: true,
});

export function checkedClaimOptions(given: ClaimOptions): ClaimOptions {
  const options = withKnownNames("claim()", given, claimOptionNames);
  const tokens: unknown = options.knownTokens ?? [];
  if (!Array.isArray(tokens) || tokens.some((token) => typeof token !== "bigint"))
    throw new InvalidOptionError("knownTokens", tokens, "an array of fence tokens (bigints)");
  return options;
}

/** What a worker adds to a claim by hand. */
export interface PassOptions extends ClaimOptions {
  /** Which of the buckets to look at this time, out of those in turn. */
  among?(buckets: readonly number[]): readonly number[];
  /** Where to begin in a bucket; where the last pass stopped, when left out. */
  afterOf?(bucket: number): string;
  /** Bytes of payloads and headers at most, but for the first job; 0 for jobs without payload and headers. */
  readonly bytes?: number;
  /** Visit these keys and no others. */
  readonly known?: readonly KnownKey[];
  /** Under which the worker is registered; a process that another of its id has replaced is refused. */
  readonly generation?: bigint;
  /** A try may have taken rows, and its answer never came. */
  onUnsure?(): void;
  /** A claim said which seqs had been drawn when. */
  onDrawn?(drawn: Drawn): void;
  /** The turn in which this claimer left a bucket; only for one who remembers keys. */
  turnOf?(bucket: number): bigint;
}

/** What is claimed on a wake. */
export interface WokenOptions
  extends Pick<PassOptions, "workerId" | "turnOf" | "generation" | "kinds">,
    Given<Pick<PassOptions, "buckets" | "limit" | "run" | "leaseMs" | "bytes">> {}

type Given<T> = { readonly [K in keyof T]-?: NonNullable<T[K]> };
