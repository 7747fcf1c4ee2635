/** What made a tenant hot: hot() lists it, somebody promoted it, the policy did; `task` is a cold one that is worked for once. */
export type TenantSource = "listed" | "promoted" | "policy" | "task";

/** Why a tenant stopped running on a process. */
export type DemoteReason = "ownership-change" | "idle" | "drain" | "error" | "evicted";

/** A tenant that hot() lists. */
export interface HotTenant {
  readonly tenant: string;
  /** Where it should run while a worker lives there. */
  readonly preferredRegion?: string | null | undefined;
}

/** What start() and tasks get. */
export interface TenantContext {
  /**
   * Aborted when this process must not act for the tenant any more. `signal.aborted` asks the lease when it is read, so a process that was frozen sees it on its first look.
   */
  readonly signal: AbortSignal;
  /** Higher than that of every earlier owner; give it to lh.fence() with each write. 0n without a fleet. */
  readonly fenceToken: bigint;
  /** 1 for the first start under this token; higher after start() threw. */
  readonly attempt: number;
}
