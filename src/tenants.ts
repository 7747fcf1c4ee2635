import { type Leasehold, surroundingsOf } from "./leasehold.js";
import { defaults } from "./settings.js";
import { FleetOwnership } from "./tenants/fleet-ownership.js";
import { SingleOwnership } from "./tenants/single-ownership.js";
import { TenantSupervisor } from "./tenants/supervisor.js";
import { type TenantSupervisorOptions, tenantSettings } from "./tenants/tenant-settings.js";
import { housekeepIfDue } from "./work/housekeeping.js";

export { NotOwnerError, TenantEndedError } from "./errors.js";
export type { TenantMetrics } from "./tenants/metrics.js";
export type { ActiveWorker } from "./tenants/ownership.js";
export { ownsTenant } from "./tenants/owns-tenant.js";
export type { PolicyOptions, TenantActivity } from "./tenants/policy.js";
export type { RunningTenant, SupervisorState, TenantSupervisor } from "./tenants/supervisor.js";
export type { DispatchOptions, DispatchProgress, FanOutOptions, TaskResult } from "./tenants/task-result.js";
export type { TenantTask } from "./tenants/tasks.js";
export type { DemoteReason, HotTenant, TenantContext } from "./tenants/tenant.js";
export type { TenantSupervisorOptions } from "./tenants/tenant-settings.js";

/** A supervisor of hot tenants on this process. It does nothing until start(). */
export function createTenantSupervisor<S = unknown>(
  lh: Leasehold,
  options: TenantSupervisorOptions<S>,
): TenantSupervisor<S> {
  const around = surroundingsOf(lh);
  const { membership, clock } = around;
  const settings = tenantSettings(options as TenantSupervisorOptions, membership.settings.tickMs);
  const ownership = settings.isFleet
    ? new FleetOwnership(around, settings)
    : new SingleOwnership(membership.settings, clock);
  const attach = (part: { stop(why: string): Promise<void> }): (() => void) =>
    around.attach(`the supervisor ${settings.name}`, part);
  const { housekeepingMs } = defaults;
  const housekeep = settings.isFleet
    ? () => housekeepIfDue({ ...around, schema: lh.schema }, housekeepingMs * 0.9)
    : null;
  return new TenantSupervisor({ ...around, ownership, attach, housekeep }, settings, options);
}
