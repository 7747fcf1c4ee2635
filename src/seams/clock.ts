/** Time on this machine: for waiting and for measuring spans, never for deciding who holds what. */
export interface Clock {
  /** Milliseconds that only rise. */
  monotonicMs(): number;
  /** The time of day; goes into ids, where only its order of magnitude matters. */
  epochMs(): number;
  /** Resolves after ms, or as soon as the signal aborts. 0 lets everything else that is ready go first. Keeps the process alive meanwhile. */
  sleep(ms: number, wake?: AbortSignal): Promise<void>;
  /** What SQL is told the time is. Null lets the database say, which is how production runs. */
  databaseNow(): Date | null;
}
