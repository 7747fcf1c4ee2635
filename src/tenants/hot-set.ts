import { InvalidOptionError } from "../errors.js";
import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";
import { checkedRegion, checkedTenant } from "./checked-tenant.js";
import { Policy } from "./policy.js";
import type { TenantSource } from "./tenant.js";
import type { TenantSupervisorOptions } from "./tenant-settings.js";

interface Hot {
  readonly region: string | null;
  readonly source: TenantSource;
}

/** What should be hot: what hot() lists, and what the policy finds busy. */
export class HotSet {
  readonly #seams: { readonly clock: Clock; readonly events: Events };
  readonly #name: string;
  readonly #options: Pick<TenantSupervisorOptions, "hot">;
  readonly #policy: Policy | null;
  #current: ReadonlyMap<string, Hot> = new Map();
  #isKnown = false;
  #refreshing: Promise<boolean> | null = null;

  constructor(
    seams: { readonly clock: Clock; readonly events: Events },
    name: string,
    options: Pick<TenantSupervisorOptions, "hot" | "policy">,
  ) {
    this.#seams = seams;
    this.#name = name;
    this.#options = options;
    this.#policy = options.policy === undefined ? null : new Policy(options.policy);
  }

  get current(): ReadonlyMap<string, Hot> {
    return this.#current;
  }

  /** False until it was read once: then nothing is known to be cold. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  isIdle(tenant: string, sinceMs: number): boolean {
    return this.#policy?.isIdle(tenant, sinceMs, this.#seams.clock.monotonicMs()) ?? false;
  }

  /** Asks again, once at a time. A failure, or no answer for too long, leaves what was said last. True when that is another now. */
  async refresh(): Promise<boolean> {
    this.#refreshing ??= this.#ask().finally(() => {
      this.#refreshing = null;
    });
    return await this.#refreshing;
  }

  async #ask(): Promise<boolean> {
    const { clock, events } = this.#seams;
    const patience = new AbortController();
    const late = clock.sleep(defaults.hotTimeoutMs, patience.signal).then(() => {
      throw new Error(`hot() or measure() did not answer within ${defaults.hotTimeoutMs} ms.`);
    });
    late.catch(() => {});
    try {
      const before = this.#isKnown ? this.#current : null;
      this.#current = await Promise.race([this.#read(), late]);
      this.#isKnown = true;
      return before === null || !isSame(before, this.#current);
    } catch (error) {
      events.emit("tenants:unlisted", { supervisor: this.#name, error });
      return false;
    } finally {
      patience.abort();
    }
  }

  async #read(): Promise<ReadonlyMap<string, Hot>> {
    const busy = (await this.#policy?.look(this.#seams.clock.monotonicMs())) ?? new Map<string, string>();
    const current = new Map<string, Hot>();
    for (const [tenant, region] of busy) current.set(tenant, { region, source: "policy" });
    const before = this.#current;
    const listed = (await this.#options.hot?.()) ?? [];
    if (typeof listed === "string")
      throw new InvalidOptionError("hot", listed, "a function that lists tenants");
    for (const one of listed) {
      const tenant = typeof one === "string" ? one : one.tenant;
      const preferred = typeof one === "string" ? null : one.preferredRegion;
      const known = before.get(tenant);
      const isKnown = known?.source === "listed" && known.region === (preferred ?? null);
      // What was checked at the last tick is not checked again: these lists are long.
      current.set(
        isKnown ? tenant : checkedTenant(tenant),
        isKnown ? known : { region: checkedRegion(preferred), source: "listed" },
      );
    }
    if (current.size > defaults.tenantsMax)
      throw new InvalidOptionError("hot", current.size, `a list of at most ${defaults.tenantsMax} tenants`);
    return current;
  }
}

function isSame(one: ReadonlyMap<string, Hot>, other: ReadonlyMap<string, Hot>): boolean {
  if (one.size !== other.size) return false;
  for (const [tenant, { region, source }] of one) {
    const found = other.get(tenant);
    if (found?.region !== region || found.source !== source) return false;
  }
  return true;
}
