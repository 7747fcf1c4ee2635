import { defaults } from "../settings.js";
import { Balance } from "./balance.js";

/** A hot tenant, and who has it now, or was named to get it. */
export interface AssignedTenant {
  readonly tenant: string;
  /** Where it should run, if anybody lives there. */
  readonly region: string | null;
  readonly owner: string | null;
}

export interface TenantMember {
  readonly id: string;
  readonly region: string | null;
  /** Alive without a break for about a tick. Who is not yet so gets nothing that somebody else could run. */
  readonly isSettled: boolean;
}

/**
 * Who is to run each hot tenant. What runs stays where it is; a tenant is given to somebody else only if it has no owner, its owner has more than a twentieth
 * above an even share, somebody has less than a twentieth below it, or somebody lives in the region it prefers and its owner does not. Which one goes where is
 * decided by rendezvous scores. Depends on nothing but what it is given, and not on its order, so members with the same view agree.
 */
export function assign(
  tenants: readonly AssignedTenant[],
  members: readonly TenantMember[],
): ReadonlyMap<string, string> {
  const targets = new Map<string, string>();
  const loads = new Map<string, number>();
  const rest: AssignedTenant[] = [];
  for (const [region, group] of byRegion(tenants)) {
    const local = members.filter((member) => member.region === region);
    if (region === null || local.length === 0) rest.push(...group);
    else share(group, local, { loads, targets });
  }
  share(rest, members, { loads, targets });
  return targets;
}

/**
 * Who would run a tenant that is cold: the highest score of those that live in its region, or of all. What others run has no part in it, because members see that at different
 * times, and would each name another.
 */
export function coldOwner(
  { tenant, region }: Pick<AssignedTenant, "tenant" | "region">,
  members: readonly TenantMember[],
): string | null {
  const local = members.filter((member) => member.region === region);
  const eligible = settledOf(region === null || local.length === 0 ? members : local);
  return new Balance(eligible.map(({ id }) => id).sort()).best(tenant);
}

function byRegion(tenants: readonly AssignedTenant[]): ReadonlyMap<string | null, readonly AssignedTenant[]> {
  const groups = new Map<string | null, AssignedTenant[]>();
  for (const tenant of tenants) {
    const group = groups.get(tenant.region);
    if (group === undefined) groups.set(tenant.region, [tenant]);
    else group.push(tenant);
  }
  return new Map([...groups].sort(([left], [right]) => ((left ?? "") < (right ?? "") ? -1 : 1)));
}

/** Everybody counts while nobody is settled, as when a fleet starts. */
function settledOf(members: readonly TenantMember[]): readonly TenantMember[] {
  const settled = members.filter((member) => member.isSettled);
  return settled.length > 0 ? settled : members;
}

/** Shares a group out among members, on top of what they have from earlier groups. */
function share(
  group: readonly AssignedTenant[],
  members: readonly TenantMember[],
  sum: { readonly loads: Map<string, number>; readonly targets: Map<string, string> },
): void {
  const known = new Set(members.map(({ id }) => id));
  const balance = new Balance([...new Set(settledOf(members).map(({ id }) => id))].sort(), (id) =>
    sum.loads.get(id),
  );
  const kept: (readonly [tenant: string, owner: string])[] = [];
  for (const { tenant, owner } of group) {
    if (owner !== null && known.has(owner) && !balance.has(owner)) {
      balance.keep(owner, sum.loads.get(owner) ?? 0);
      kept.push([tenant, owner]);
    } else balance.add(tenant, owner);
  }
  for (const [tenant, owner] of kept) take(sum, tenant, owner);
  for (const [tenant, owner] of balance.settle(defaults.tenantBalanceShare)) take(sum, tenant, owner);
}

function take(
  sum: { readonly loads: Map<string, number>; readonly targets: Map<string, string> },
  tenant: string,
  owner: string,
): void {
  sum.targets.set(tenant, owner);
  sum.loads.set(owner, (sum.loads.get(owner) ?? 0) + 1);
}
