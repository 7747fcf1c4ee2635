import { listTenantRows } from "../database/statements.generated.js";
import type { OptionNames } from "../option-names.js";
import { defaults, wholeNumber } from "../settings.js";
import { checkedText } from "./checked-text.js";
import type { WorkersSeams } from "./workers.js";

/** A hot tenant as its row says. */
export interface TenantRow {
  readonly tenant: string;
  /** The name of the supervisor that runs it; "tenants" unless one was given. */
  readonly supervisor: string;
  /** The worker id; null when nobody runs it. */
  readonly owner: string | null;
  /** In decimal digits. */
  readonly fenceToken: string;
  readonly state: "free" | "running" | "draining";
  /** Since when it is in this state. */
  readonly since: Date;
  readonly region: string | null;
  /** While it runs: when its owner's TTL ends unless that beats again. While it drains: when it must have ended. Null when nobody owns it, or its owner is gone. */
  readonly expiresAt: Date | null;
}

export interface TenantFilter {
  /** The worker id of the owner. */
  readonly owner?: string | undefined;
  /** How many at most; 1 000. A page has all supervisors of its last tenant, so it may be a few rows longer. */
  readonly limit?: number | undefined;
  /** The last tenant of the page before. */
  readonly after?: string | undefined;
}

export const tenantFilterNames: OptionNames<TenantFilter> = Object.freeze({
  owner: true,
  limit: true,
  after: true,
});

/** The hot tenants by name, a page of them. */
export async function listTenants(
  seams: Pick<WorkersSeams, "database" | "bind">,
  filter: TenantFilter,
): Promise<readonly TenantRow[]> {
  const query = seams.bind(listTenantRows, {
    owner: checkedText("owner", filter.owner),
    after: checkedText("after", filter.after),
    limit: wholeNumber("limit", filter.limit, {
      fallback: defaults.tenantsLimit,
      min: 1,
      max: defaults.tenantsLimitMax,
    }),
  });
  const rows = await seams.database.run(query);
  return rows.map(({ token, expires_at: expiresAt, state, ...row }) =>
    Object.freeze({ ...row, fenceToken: token, state: state as TenantRow["state"], expiresAt }),
  );
}
