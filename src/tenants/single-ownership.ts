import type { MemberSettings } from "../membership/member-settings.js";
import type { Clock } from "../seams/clock.js";
import type { TenantMember } from "./assign.js";
import type { HeldTenant, TenantLease, WantedTenant } from "./lease.js";
import type { ActiveWorker, Ownership, Registration } from "./ownership.js";

const noToken = 0n;

/** One process alone: it owns everything, and nothing is written. */
export class SingleOwnership implements Ownership {
  readonly workerId: string;
  readonly #member: TenantMember;
  readonly #leases = new Map<string, TenantLease>();
  readonly #done = new Map<string, Set<string>>();

  readonly #settings: MemberSettings;
  readonly #clock: Clock;
  #startedAt = new Date(0);

  constructor(settings: MemberSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.workerId = settings.id;
    this.#member = Object.freeze({
      id: settings.id,
      region: settings.region,
      isSettled: true,
    });
  }

  async join(): Promise<void> {
    this.#startedAt = new Date(this.#clock.epochMs());
  }

  async leave(): Promise<void> {}

  async finish(): Promise<void> {
    this.#leases.clear();
    this.#done.clear();
  }

  members(): readonly TenantMember[] {
    return [this.#member];
  }

  registrations(): readonly Registration[] {
    return [];
  }

  joined(): ReadonlySet<string> {
    return new Set();
  }

  settlesInMs(): number {
    return Number.POSITIVE_INFINITY;
  }

  async active(): Promise<readonly ActiveWorker[]> {
    const { id, hostname, pid, region } = this.#settings;
    const lastHeartbeatAt = new Date(this.#clock.epochMs());
    const times = { startedAt: this.#startedAt, lastHeartbeatAt, expiresInMs: Number.POSITIVE_INFINITY };
    return [Object.freeze({ id, hostname, pid, region, ...times, generation: 0 })];
  }

  aliveMs(): number {
    return Number.POSITIVE_INFINITY;
  }

  sureForMs(): number {
    return Number.POSITIVE_INFINITY;
  }

  async list(only?: readonly string[]): Promise<readonly TenantLease[]> {
    const leases = [...this.#leases.values()];
    return only === undefined ? leases : leases.filter(({ tenant }) => only.includes(tenant));
  }

  async win(wanted: readonly WantedTenant[]): Promise<ReadonlyMap<string, bigint>> {
    for (const { tenant, region, source } of wanted) {
      const held = {
        owner: this.workerId,
        isMine: true,
        token: String(noToken),
        state: "running",
        heir: null,
      } as const;
      this.#leases.set(tenant, { ...held, tenant, region, source, isLost: false });
    }
    return new Map(wanted.map(({ tenant }) => [tenant, noToken]));
  }

  async drain(): Promise<void> {}

  async keep(held: readonly (HeldTenant & Pick<WantedTenant, "region" | "source">)[]): Promise<void> {
    for (const { tenant, region, source } of held) {
      const lease = this.#leases.get(tenant);
      if (lease !== undefined) this.#leases.set(tenant, { ...lease, region, source });
    }
  }

  async own(): Promise<readonly HeldTenant[]> {
    return [...this.#leases.keys()].map((tenant) => ({ tenant, token: noToken }));
  }

  async free(held: readonly HeldTenant[]): Promise<void> {
    await this.drop(held);
  }

  async drop(held: readonly HeldTenant[]): Promise<void> {
    for (const { tenant } of held) this.#leases.delete(tenant);
  }

  async markDone(run: string, tenant: string): Promise<void> {
    const done = this.#done.get(run) ?? new Set();
    this.#done.set(run, done.add(tenant));
  }

  async doneOf(run: string, tenants: readonly string[]): Promise<ReadonlySet<string>> {
    const done = this.#done.get(run);
    return new Set(tenants.filter((tenant) => done?.has(tenant)));
  }
}
