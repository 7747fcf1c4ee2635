import type { DemoteReason } from "./tenant.js";

/** Counts of one supervisor since it was made. Everything that ends in Total only rises. */
export interface TenantMetrics {
  /** Running on this process. */
  readonly hotTenants: number;
  /** Hot and running nowhere, as of the last tick. */
  readonly waitingTenants: number;
  readonly demoteTotal: Readonly<Record<DemoteReason, number>>;
  readonly promotionsRefusedTotal: number;
  /** Given to another process because that one should have it. */
  readonly movesTotal: number;
  /** Won from an owner that was gone. */
  readonly takeoversTotal: number;
  readonly startFailuresTotal: number;
  readonly stuckTotal: number;
  readonly ticksTotal: number;
  /** Workers that register again and again. */
  readonly restartLoops: readonly string[];
}

/** The counts as they rise. */
export class TenantCounts {
  readonly demoted: Record<DemoteReason, number> = {
    "ownership-change": 0,
    idle: 0,
    drain: 0,
    error: 0,
    evicted: 0,
  };
  refused = 0;
  moves = 0;
  takeovers = 0;
  failures = 0;
  stuck = 0;
  ticks = 0;
  waiting = 0;

  snapshot(hotTenants: number, restartLoops: readonly string[]): TenantMetrics {
    return Object.freeze({
      hotTenants,
      waitingTenants: this.waiting,
      demoteTotal: Object.freeze({ ...this.demoted }),
      promotionsRefusedTotal: this.refused,
      movesTotal: this.moves,
      takeoversTotal: this.takeovers,
      startFailuresTotal: this.failures,
      stuckTotal: this.stuck,
      ticksTotal: this.ticks,
      restartLoops: Object.freeze([...restartLoops]),
    });
  }
}
