/** A process of a fleet of tenants was started. */
export interface Joined {
  readonly atMs: number;
  readonly is: "joined";
  readonly process: string;
}

/**
 * A tenant on a process: start() was called, it threw, it acted, it saw that its signal is aborted, it ended; and the supervisor told that it has stopped, and why.
 */
export interface TenantNote {
  readonly atMs: number;
  readonly is: "tenant";
  readonly what: "began" | "failed" | "acted" | "aborted" | "ended" | "stopped";
  readonly process: string;
  readonly tenant: string;
  readonly token: bigint;
  /** Why it has stopped. */
  readonly reason: string | null;
  /** It has stopped for its supervisor, and may still be running. */
  readonly isStuck: boolean;
}
