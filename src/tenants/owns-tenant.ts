import { InvalidOptionError } from "../errors.js";
import { checkedWorkerId } from "../membership/member-settings.js";
import { coldOwner } from "./assign.js";
import { checkedTenant } from "./checked-tenant.js";

/**
 * Whether this worker has the highest rendezvous score for the tenant among the workers given, by their ids or as listActive() has them. Pure: the same answer in every process, with no database.
 * That is who runs a tenant that is cold, and who gets a tenant when a fleet starts, as far as the balance allows: a worker with too many tenants leaves some of its highest scores to others, and what runs stays
 * where it is. Ask supervisor.owner() who has a tenant now.
 */
export function ownsTenant(
  tenantId: string,
  workerId: string,
  activeWorkers: readonly (string | { readonly id: string })[],
): boolean {
  if (!Array.isArray(activeWorkers))
    throw new InvalidOptionError(
      "activeWorkers",
      activeWorkers,
      "a list of worker ids, or of workers with an id",
    );
  const members = activeWorkers.map((worker) => ({
    id: checkedWorkerId(typeof worker === "string" ? worker : worker?.id),
    region: null,
    isSettled: true,
  }));
  return coldOwner({ tenant: checkedTenant(tenantId), region: null }, members) === checkedWorkerId(workerId);
}
