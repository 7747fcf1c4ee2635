import { namesOf, type OptionNames } from "../option-names.js";
import type { KindPolicies } from "./kind-policies.js";

/** What a user may say when a queue is opened. What is left out is taken from the stored queue, or from the defaults. */
export interface QueueOptions {
  /** "key": rows of one partition key run one after the other, in order. "none": by priority and due time. */
  readonly order?: "key" | "none" | undefined;
  /** With order "key": earlier means committed earlier, at the price of a lock per key in each enqueuing transaction. */
  readonly strict?: boolean | undefined;
  /** "continue": a dead letter lets its key go on. "park": it holds its key until a person retries or discards it. */
  readonly onDeadLetter?: "continue" | "park" | undefined;
  readonly buckets?: number | undefined;
  readonly ring?: "rendezvous" | "consistent" | undefined;
  /** Points of each worker on a consistent ring. */
  readonly vnodes?: number | undefined;
  /** While a worker of one of these regions lives, only such workers own buckets. */
  readonly preferRegions?: readonly string[] | undefined;
  /** Workers of these regions never own buckets. */
  readonly excludeRegions?: readonly string[] | undefined;
  /** How long finished jobs are kept in the archive; 0 keeps none. Whole days are dropped at once. */
  readonly retentionMs?: number | undefined;
  /** How long a dead letter that let its key go on stays in the queue, before it is moved to the archive; 0 keeps it for ever. */
  readonly deadLetterRetentionMs?: number | undefined;
  /** How long an idempotency key answers, counted from the enqueue, and at least until its job has finished. */
  readonly dedupeWindowMs?: number | undefined;
  /** How many attempts of a job may end with an error, for jobs whose producer does not say; 12. The last one makes it a dead letter. */
  readonly maxAttempts?: number | undefined;
  /** How many attempts of a job may end with the loss of their worker or lease, whatever its maxAttempts; 5. */
  readonly maxCrashes?: number | undefined;
  /** What differs for a kind: `{ "receipt.send": { maxAttempts: 3, maxCrashes: 2 } }`. */
  readonly kinds?: KindPolicies | undefined;
  /** Not stored: the limit of this process. */
  readonly payloadLimitBytes?: number | undefined;
}

/** Fixed when a queue is created. */
export const fixed = [
  "order",
  "strict",
  "onDeadLetter",
  "buckets",
  "ring",
  "vnodes",
  "preferRegions",
  "excludeRegions",
] as const;

/** What queue.change() changes. */
export const changeable = [
  "retentionMs",
  "deadLetterRetentionMs",
  "dedupeWindowMs",
  "maxAttempts",
  "maxCrashes",
  "kinds",
] as const;

export const queueOptionNames: OptionNames<QueueOptions> = namesOf([
  ...fixed,
  ...changeable,
  "payloadLimitBytes",
]);

/**
 * What can be changed while a queue is at work. SQL reads it from the queue's row each time, so a change counts for every process at once: `maxAttempts` and `dedupeWindowMs` for jobs that
 * are enqueued from now on, `maxCrashes` from the next crash on, retentions from the next housekeeping on. `kinds` takes the place of all policies of kinds that were stored before. A queue
 * that keeps no archive (`retentionMs: 0`) can't begin to, nor the other way round.
 */
export type QueueChange = Pick<QueueOptions, (typeof changeable)[number]>;
