import type { AssignedTenant, TenantMember } from "../../../src/tenants/assign.js";

export function tenantsNamed(prefix: string, count: number, region: string | null = null): AssignedTenant[] {
  return Array.from({ length: count }, (_, i) => ({ tenant: `${prefix}${i}`, region, owner: null }));
}

export function membersNamed(prefix: string, count: number, region: string | null = null): TenantMember[] {
  return Array.from({ length: count }, (_, i) => member(`${prefix}${i}`, { region }));
}

export function member(id: string, more: Partial<TenantMember> = {}): TenantMember {
  return { id, region: null, isSettled: true, ...more };
}

/** The tenants with the owners that an assignment gives them. */
export function owned(
  tenants: readonly AssignedTenant[],
  targets: ReadonlyMap<string, string>,
): AssignedTenant[] {
  return tenants.map((one) => ({ ...one, owner: targets.get(one.tenant) ?? null }));
}

/** How many each of the members has, nobody left out. */
export function loadsOf(targets: ReadonlyMap<string, string>, members: readonly TenantMember[]): number[] {
  const counts = new Map(members.map(({ id }) => [id, 0]));
  for (const owner of targets.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return [...counts.values()];
}

/** How many have another owner than before. */
export function movesOf(tenants: readonly AssignedTenant[], targets: ReadonlyMap<string, string>): number {
  return tenants.filter(({ tenant, owner }) => targets.get(tenant) !== owner).length;
}
