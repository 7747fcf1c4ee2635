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
  /** Housekeeping finished a round (only the process that was elected says so). */
  "housekeeping:finished": {
    readonly queues: number;
    readonly workersMarked: readonly string[];
    readonly removed: number;
  };
  /** Finished rows went to the rest partition because their day was missing; the next housekeeping round sorts them in. */
  "archive:strayed": { readonly queue: string; readonly rows: number };
  /** A migration was applied. `queue` is empty for migrations of the schema. */
  "migration:applied": { readonly id: number; readonly name: string; readonly queue: string };
  /** A database call failed in a way that repeating can cure, and is repeated. */
  "database:retried": { readonly statement: string; readonly tries: number; readonly reason: string };
  /** Named prepared statements do not work here (a pooler in transaction mode); unnamed ones are used from now on. */
  "statements:unnamed": { readonly reason: string };
  /** An idle connection broke; the pool replaces it. */
  "connection:lost": { readonly reason: string };
}

export type EventName = keyof EventMap;
export type Listener<N extends EventName> = (event: EventMap[N]) => void;

export interface Events {
  on<N extends EventName>(name: N, listener: Listener<N>): () => void;
  emit<N extends EventName>(name: N, event: EventMap[N]): void;
}

/** A listener that throws is the listener's fault and stops nothing: its error goes to `onListenerError`. */
export function createEvents(onListenerError: (name: EventName, error: unknown) => void = () => {}): Events {
  const listeners = new Map<EventName, Set<(event: never) => void>>();
  return {
    on(name, listener) {
      const set = listeners.get(name) ?? new Set();
      listeners.set(name, set);
      set.add(listener);
      return () => set.delete(listener);
    },
    emit(name, event) {
      for (const listener of listeners.get(name) ?? []) {
        try {
          (listener as (given: typeof event) => void)(event);
        } catch (error) {
          onListenerError(name, error);
        }
      }
    },
  };
}
