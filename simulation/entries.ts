import type { Joined, TenantNote } from "./tenants/entries.js";

/**
 * What happened, in the order in which it happened: what the database's own triggers saw of every row, and what the processes told. The checkers read this and
 * nothing else, so they hold for the simulation and for real processes alike.
 */

export type Status = "scheduled" | "pending" | "processing" | "dead_letter";

/** A row of the queue as a trigger saw it. */
export interface RowState {
  readonly status: Status;
  /** A dead letter that lets its key go on has finished; one that holds it has not. */
  readonly isFinished: boolean;
  readonly worker: string | null;
  readonly token: bigint;
  readonly attempts: number;
  /** How many of the attempts ended with the loss of the worker or the lease. */
  readonly crashes: number;
  readonly maxAttempts: number;
  readonly leaseExpiresAtMs: number | null;
  /** Not to be claimed before. */
  readonly availableAtMs: number;
}

interface Happened {
  readonly atMs: number;
}

/** A row appeared (no `from`), changed, or left the queue's table (no `to`). `by` is the process whose statement did it. */
export interface Move extends Happened {
  readonly is: "moved";
  readonly by: string;
  readonly id: string;
  readonly key: string;
  readonly seq: bigint;
  readonly idempotencyKey: string | null;
  readonly from: RowState | null;
  readonly to: RowState | null;
}

/** A row entered the archive. */
interface Archived extends Happened {
  readonly is: "archived";
  readonly id: string;
  readonly status: "completed" | "discarded";
  readonly token: bigint;
  readonly attempts: number;
}

/** The registry says something else about a worker. */
interface Registered extends Happened {
  readonly is: "registered";
  readonly worker: string;
  readonly status: "alive" | "draining" | "dead";
  readonly generation: bigint;
}

/** An enqueue was sent, and then acknowledged, or answered with an earlier job; one without an answer may or may not have happened. */
interface Sent extends Happened {
  readonly is: "sent" | "acknowledged" | "duplicate";
  readonly id: string;
  readonly key: string;
}

/** A handler was called, or ended. */
export interface Handled extends Happened {
  readonly is: "started" | "ended";
  readonly process: string;
  readonly id: string;
  readonly key: string;
  readonly token: bigint;
}

/** A handler's write was committed, with the completion of its job (`once`) or under a fence of its key. */
interface Effect extends Happened {
  readonly is: "effect";
  readonly how: "once" | "fenced";
  readonly id: string;
  readonly key: string;
  readonly token: bigint;
}

/** Something was done to a process (or to all: the server went away), from then until `ok`. `gone` is for good. */
interface Fault extends Happened {
  readonly is: "fault";
  readonly process: string;
  readonly what: string;
  readonly state: "hit" | "ok" | "gone";
}

/** The buckets that a process takes for its own. */
interface Owned extends Happened {
  readonly is: "owned";
  readonly process: string;
  readonly buckets: readonly number[];
}

/** A process asked for rows, and nothing moved. */
interface Looked extends Happened {
  readonly is: "looked in vain";
  readonly process: string;
}

/** The queue was paused, or goes on. */
interface Paused extends Happened {
  readonly is: "paused";
  readonly isPaused: boolean;
}

export type Entry =
  | Move
  | Archived
  | Registered
  | Sent
  | Handled
  | Effect
  | Fault
  | Owned
  | Looked
  | Paused
  | Joined
  | TenantNote;

/** An entry of one sort, such as EntryOf<"fault">. */
export type EntryOf<I extends Entry["is"]> = Extract<Entry, { readonly is: I }>;
