import type { TenantSource } from "./tenant.js";

/** A row of tenant_leases as one process sees it. */
export interface TenantLease {
  readonly tenant: string;
  readonly owner: string | null;
  /** It is this very process's, not an earlier one's of the same id. */
  readonly isMine: boolean;
  /** As text: thousands of them are read at each tick, and few are used. */
  readonly token: string;
  readonly state: "free" | "running" | "draining";
  readonly heir: string | null;
  readonly region: string | null;
  readonly source: TenantSource;
  /** Its owner is gone, and has stopped by its own rules. */
  readonly isLost: boolean;
}

/** Another process that has it, and has not stopped for certain; null when there is none. */
export function holderElsewhere(lease: TenantLease | undefined): string | null {
  return lease === undefined || lease.isLost || lease.isMine ? null : lease.owner;
}

/** A lease to be won: the token it is known to have, 0 when there is no row. */
export interface WantedTenant {
  readonly tenant: string;
  readonly seen: bigint;
  readonly region: string | null;
  readonly source: TenantSource;
}

export interface HeldTenant {
  readonly tenant: string;
  readonly token: bigint;
}
