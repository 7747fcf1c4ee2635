import { InvalidOptionError } from "../errors.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { asObject, defaults, wholeNumber } from "../settings.js";
import { checkedRegion, checkedTenant } from "./checked-tenant.js";
import type { HotTenant } from "./tenant.js";

/** How busy a tenant is, by whatever a user counts. Several of one tenant are added up. */
export interface TenantActivity extends HotTenant {
  /** Rows that wait, for instance. */
  readonly depth?: number | undefined;
  /** Per second. */
  readonly rate?: number | undefined;
}

export interface PolicyOptions {
  /** Asked at each tick. Name only tenants that are busy. */
  measure(): Promise<Iterable<TenantActivity>> | Iterable<TenantActivity>;
  /** Hot from this depth on. */
  readonly depthMin?: number | undefined;
  /** Hot from this rate on, per second. */
  readonly rateMin?: number | undefined;
  /** Cold after so long without depth or rate; also what was promoted by hand. */
  readonly idleMs?: number | undefined;
}

const policyNames: OptionNames<PolicyOptions> = Object.freeze({
  measure: true,
  depthMin: true,
  rateMin: true,
  idleMs: true,
});

/** Which tenants are hot because they are busy, and which have been idle for too long. */
export class Policy {
  readonly #options: PolicyOptions;
  readonly #depthMin: number;
  readonly #rateMin: number;
  readonly #idleMs: number;
  /** When a tenant was last busy, by the monotonic clock; for those that are not cold yet. */
  readonly #busyAtMs = new Map<string, number>();

  constructor(given: PolicyOptions) {
    this.#options = withKnownNames("policy", asObject("policy", given), policyNames);
    const { measure, depthMin, rateMin, idleMs } = given;
    if (typeof measure !== "function") throw new InvalidOptionError("policy.measure", measure, "a function");
    if (depthMin === undefined && rateMin === undefined)
      throw new InvalidOptionError("policy", given, "given a depthMin or a rateMin");
    const never = Number.POSITIVE_INFINITY;
    this.#depthMin = threshold("policy.depthMin", depthMin) ?? never;
    this.#rateMin = threshold("policy.rateMin", rateMin) ?? never;
    this.#idleMs = wholeNumber("policy.idleMs", idleMs, {
      fallback: defaults.tenantIdleMs,
      min: 1,
      max: defaults.delayMsMax,
    });
  }

  /** Measures; the tenants above a threshold, with their regions. */
  async look(nowMs: number): Promise<ReadonlyMap<string, string | null>> {
    const sums = new Map<string, { depth: number; rate: number; region: string | null }>();
    for (const { tenant, depth = 0, rate = 0, preferredRegion } of await this.#options.measure()) {
      const sum = sums.get(checkedTenant(tenant)) ?? { depth: 0, rate: 0, region: null };
      sums.set(tenant, {
        depth: sum.depth + amount("depth", depth),
        rate: sum.rate + amount("rate", rate),
        region: checkedRegion(preferredRegion) ?? sum.region,
      });
    }
    const hot = new Map<string, string | null>();
    for (const [tenant, { depth, rate, region }] of sums) {
      if (depth >= this.#depthMin || rate >= this.#rateMin) hot.set(tenant, region);
      if (depth > 0 || rate > 0) this.#busyAtMs.set(tenant, nowMs);
    }
    for (const [tenant, atMs] of this.#busyAtMs)
      if (nowMs - atMs > 2 * this.#idleMs) this.#busyAtMs.delete(tenant);
    return hot;
  }

  /** True for a tenant that has run here since then and has not been busy for the idle time. */
  isIdle(tenant: string, sinceMs: number, nowMs: number): boolean {
    return nowMs - Math.max(sinceMs, this.#busyAtMs.get(tenant) ?? sinceMs) >= this.#idleMs;
  }
}

function threshold(option: string, value: number | undefined): number | undefined {
  if (value !== undefined && !(typeof value === "number" && value > 0))
    throw new InvalidOptionError(option, value, "a number above 0");
  return value;
}

function amount(what: string, value: unknown): number {
  if (typeof value !== "number" || !(value >= 0))
    throw new InvalidOptionError(`policy.measure: ${what}`, value, "a number, 0 or above");
  return value;
}
