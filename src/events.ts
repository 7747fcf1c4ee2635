/**
 * Everything that happens, as typed events. Logs, metrics and tests subscribe; nothing else words a log line.
 * Names are noun:past-tense.
 */
export interface EventMap {
  /** A payload is larger than payloadWarningBytes; it was stored. */
  "payload:warned": { readonly queue: string; readonly kind: string; readonly bytes: number };
  /** Rows were enqueued and committed. `duplicates` were answered by earlier jobs. */
  "jobs:enqueued": { readonly queue: string; readonly count: number; readonly duplicates: number };
  /** A claim returned rows. */
  "jobs:claimed": {
    readonly queue: string;
    readonly workerId: string;
    readonly count: number;
    readonly token: bigint;
  };
  /** A claim of a worker was answered: what made it claim, how many rows it got, and how long that took. */
  "claim:finished": {
    readonly queue: string;
    readonly workerId: string;
    readonly cause: string;
    readonly rows: number;
    readonly tookMs: number;
  };
  /** A handler has come back, and its outcome was written or given up. `tookMs` is the handler's time. */
  "job:handled": {
    readonly queue: string;
    readonly id: string;
    readonly kind: string;
    readonly attempt: number;
    readonly tookMs: number;
  };
  /** A row was settled by the worker that held it. */
  "job:settled": {
    readonly queue: string;
    readonly id: string;
    readonly outcome: string;
    readonly status: string;
  };
  /** A settle or renewal found that the row belongs to somebody else now. */
  "lease:lost": {
    readonly queue: string;
    readonly id: string;
    readonly token: bigint;
    readonly during: string;
  };
  /** A handler was called. */
  "job:started": {
    readonly queue: string;
    readonly id: string;
    readonly kind: string;
    readonly partitionKey: string;
    readonly attempt: number;
    readonly token: bigint;
  };
  /** An attempt ended badly: what the handler threw, before it is settled. `outcome` is retry or dead_letter, which it is on the last attempt. */
  "job:failed": {
    readonly queue: string;
    readonly id: string;
    readonly kind: string;
    readonly attempt: number;
    readonly outcome: string;
    readonly error: string;
  };
  /** This process made a job a dead letter: by a settle, or because it took the job over and its crashes were used up. Kind and attempt are null where a settle did not know them. */
  "job:dead_lettered": {
    readonly queue: string;
    readonly id: string;
    readonly kind: string | null;
    readonly attempt: number | null;
    readonly error: string;
  };
  /** A handler did not come back after its signal was aborted; its slot was given to others. It may still be running. */
  "job:stuck": { readonly queue: string; readonly id: string; readonly kind: string };
  /** A job was done, and then its handler threw: the completion stands. */
  "job:threw": { readonly queue: string; readonly id: string; readonly kind: string; readonly error: string };
  /** A handler ended without waiting for its job.transaction: an await is missing. The worker waited instead. If it failed, so did the attempt. */
  "transaction:unawaited": {
    readonly queue: string;
    readonly id: string;
    readonly kind: string;
    readonly isCommitted: boolean;
  };
  /** Rows went back to the queue unstarted, without using an attempt. */
  "jobs:released": { readonly queue: string; readonly count: number; readonly why: string };
  /** An outcome could not be written; the row is taken over when its lease runs out. */
  "settle:failed": { readonly queue: string; readonly id: string; readonly error: unknown };
  /** A process entered the registry, or entered it again under a higher generation. */
  "worker:registered": {
    readonly workerId: string;
    readonly generation: bigint;
    readonly hasSession: boolean;
    readonly why: string;
  };
  "worker:started": { readonly workerId: string; readonly queue: string; readonly concurrency: number };
  "worker:draining": {
    readonly workerId: string;
    readonly queue: string;
    readonly running: number;
    readonly why: string;
  };
  "worker:stopped": { readonly workerId: string; readonly queue: string; readonly isClean: boolean };
  /**
   * Claims or settles of this worker on a queue have failed `failures` times in a row, for a reason that is not the database's absence. It owns no buckets of the queue and claims nothing,
   * until a probe works.
   */
  "worker:failing": {
    readonly workerId: string;
    readonly queue: string;
    readonly what: "claim" | "settle";
    readonly failures: number;
    readonly error: unknown;
  };
  /** A probe has worked: it is back in the ring of the queue. */
  "worker:recovered": {
    readonly workerId: string;
    readonly queue: string;
    readonly what: "claim" | "settle";
  };
  /** The queue of a worker was dropped (`lh.dropQueue` with force), perhaps created again; the worker drains and stops. */
  "queue:dropped": { readonly queue: string; readonly workerId: string };
  /** Another process has registered under this id; this one, of the generation given, gives way. */
  "worker:superseded": { readonly workerId: string; readonly generation: bigint };
  /** The elected watcher found that workers' sessions are gone and marked them dead. */
  "workers:lost": { readonly watcherId: string; readonly workerIds: readonly string[] };
  /** The buckets of this worker changed. */
  "ring:changed": {
    readonly queue: string;
    readonly workerId: string;
    readonly workers: readonly string[];
    readonly owned: number;
    readonly gained: number;
    readonly lost: number;
    readonly gainedBuckets: readonly number[];
    readonly lostBuckets: readonly number[];
    /** The workers whose coming and going moved them; both are empty when something else did, such as a queue that a worker fails on. */
    readonly joined: readonly string[];
    readonly left: readonly string[];
  };
  /** No heartbeat was accepted for so long that others may take this worker for dead; it claims nothing until one is. */
  "trust:lost": { readonly workerId: string };
  "trust:regained": { readonly workerId: string };
  /** The session of its own is open: this worker is woken by notifications and watched over. */
  "session:opened": { readonly workerId: string; readonly isLocked: boolean };
  "session:lost": { readonly workerId: string; readonly reason: string };
  /** Notifications do not arrive on this connection; workers poll. Give directUrl a connection without a pooler in between. */
  "wake:unavailable": { readonly workerId: string; readonly reason: string };
  /** A pass of a loop failed and is tried again; or a collection of metrics (`activity` is "metrics"), which the next scrape tries again. */
  "activity:failed": { readonly activity: string; readonly failures: number; readonly error: unknown };
  /** A tenant runs here: its lease was won under this token, and start() was called. */
  "tenant:started": {
    readonly workerId: string;
    readonly supervisor: string;
    readonly tenant: string;
    readonly token: bigint;
  };
  /** A tenant does not run here any more. Stuck: it did not end within the limit, and may still be running. */
  "tenant:stopped": {
    readonly workerId: string;
    readonly supervisor: string;
    readonly tenant: string;
    readonly token: bigint;
    readonly reason: string;
    readonly isStuck: boolean;
  };
  /** start() threw; it is called again. */
  "tenant:failed": {
    readonly supervisor: string;
    readonly tenant: string;
    readonly attempt: number;
    readonly error: unknown;
    readonly againInMs: number;
  };
  /** stop() threw; the tenant counts as ended. */
  "tenant:threw": { readonly supervisor: string; readonly tenant: string; readonly error: unknown };
  /** promote() on a process that does not own the tenant. */
  "tenant:refused": { readonly supervisor: string; readonly tenant: string; readonly owner: string | null };
  /** The tenants were shared out. `waiting` are hot and run nowhere for now. */
  "tenants:shared": {
    readonly supervisor: string;
    readonly hot: number;
    readonly running: number;
    readonly won: number;
    readonly moving: number;
    readonly waiting: number;
  };
  /** hot() or the policy's measure() failed; what they said last goes on to count. */
  "tenants:unlisted": { readonly supervisor: string; readonly error: unknown };
  /** A worker was started again and again within a short time. Evictions and lost sessions do not count. */
  "worker:looping": { readonly workerId: string; readonly generation: bigint; readonly restarts: number };
  /** Housekeeping finished a round (only the process that was elected says so). */
  "housekeeping:finished": {
    readonly queues: number;
    readonly workersMarked: readonly string[];
    readonly removed: number;
    readonly tookMs: number;
  };
  /** Dead letters were in the queue for longer than `deadLetterRetentionMs` and were moved to the archive, or deleted where the queue keeps none. */
  "dead_letters:archived": { readonly queue: string; readonly rows: number };
  /** A queue was opened with other values than it has stored, for options that queue.change() changes. The stored ones count. */
  "queue:differs": {
    readonly queue: string;
    readonly differences: readonly {
      readonly option: string;
      readonly given: unknown;
      readonly stored: unknown;
    }[];
  };
  /** Finished rows went to the rest partition because their day was missing; a housekeeping round sorts them in while they are few. `rows` is counted up to 1 001. */
  "archive:strayed": { readonly queue: string; readonly rows: number };
  /** Housekeeping found due jobs of a kind that no live worker of the queue has a handler for. `jobs` of those it looked at. */
  "kind:unhandled": { readonly queue: string; readonly kind: string; readonly jobs: number };
  /** migrate() did nothing, because the schema has a higher revision than this library's own: a newer version migrated it. */
  "migration:skipped": { readonly schema: string; readonly revision: number; readonly own: number };
  /** The schema has been migrated to a revision that this library can't work on; its worker drains and stops. */
  "library:outdated": { readonly queue: string; readonly workerId: string; readonly error: string };
  /** Entries for the history could not be written, or were too many to keep until they could. */
  "history:dropped": { readonly entries: number; readonly error: unknown };
  /** A migration was applied. `queue` is empty for migrations of the schema. */
  "migration:applied": { readonly id: number; readonly name: string; readonly queue: string };
  /** A database call failed in a way that repeating can cure, and is repeated. */
  "database:retried": { readonly statement: string; readonly tries: number; readonly reason: string };
  /** So many calls in a row failed that the database counts as lost; told once, until it is back. */
  "database:lost": { readonly reason: string };
  /** The first answer after that: how long it was lost, and how many calls failed meanwhile. */
  "database:regained": { readonly lostMs: number; readonly retries: number };
  /** The replica does not answer, or may not be used: reads ask the primary from now on. Told once, until it is used again. */
  "replica:lost": { readonly reason: string };
  /** Reads ask the replica again; for how long they did not. */
  "replica:regained": { readonly lostMs: number };
  /** Named prepared statements do not work here (a pooler in transaction mode); unnamed ones are used from now on. */
  "statements:unnamed": { readonly reason: string };
  /** An idle connection broke; the pool replaces it. */
  "connection:lost": { readonly reason: string };
}

export type EventName = keyof EventMap;
/** May be an async function; nobody waits for it, and what it rejects with is reported as what it throws. */
export type Listener<N extends EventName> = (event: EventMap[N]) => void;

export interface Events {
  on<N extends EventName>(name: N, listener: Listener<N>): () => void;
  emit<N extends EventName>(name: N, event: EventMap[N]): void;
  /** For what happens to every job: false when making the event would be for nobody. */
  isHeard(name: EventName): boolean;
}

/** A listener that throws or rejects is the listener's fault and stops nothing: its error goes to `onListenerError`. */
export function createEvents(
  onListenerError: (name: EventName, error: unknown) => unknown = () => {},
): Events {
  const tell = (name: EventName, error: unknown): void =>
    guarded(
      () => onListenerError(name, error),
      () => {}, // What was to hear of it is broken too; there is nobody left to tell.
    );
  const listeners = new Map<EventName, Set<(event: never) => unknown>>();
  return {
    on(name, listener) {
      const set = listeners.get(name) ?? new Set();
      listeners.set(name, set);
      set.add(listener);
      return () => set.delete(listener);
    },
    isHeard(name) {
      return (listeners.get(name)?.size ?? 0) > 0;
    },
    emit(name, event) {
      for (const listener of listeners.get(name) ?? []) {
        guarded(
          () => (listener as (given: typeof event) => unknown)(event),
          (error) => tell(name, error),
        );
      }
    },
  };
}

/** Calls what may throw, or return a promise that rejects: left alone, that would end the process. */
function guarded(call: () => unknown, onError: (error: unknown) => void): void {
  try {
    const returned = call();
    if (isThenable(returned)) Promise.resolve(returned).catch(onError);
  } catch (error) {
    onError(error);
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value;
}
