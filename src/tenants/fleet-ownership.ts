import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import {
  drainTenants,
  dropTenants,
  freeTenants,
  handleOnce,
  keepTenants,
  listHandled,
  listOwnTenants,
  listTenantLeases,
  winTenants,
} from "../database/statements.generated.js";
import type { Membership } from "../membership/membership.js";
import type { Member } from "../membership/roster.js";
import { isLiveOn, listWorkers } from "../operate/workers.js";
import type { Clock } from "../seams/clock.js";
import type { Query } from "../seams/database.js";
import { defaults } from "../settings.js";
import type { TenantMember } from "./assign.js";
import type { HeldTenant, TenantLease, WantedTenant } from "./lease.js";
import type { ActiveWorker, Ownership, OwnershipListener, Registration } from "./ownership.js";
import type { TenantSource } from "./tenant.js";
import type { TenantSettings } from "./tenant-settings.js";

export interface FleetOwnershipSeams {
  readonly database: GuardedDatabase;
  readonly bind: Binder;
  readonly clock: Clock;
  readonly membership: Membership;
}

/** Leases that differ only in tenant and token, as the statement gives them. */
type ListedGroup = readonly [
  owner: string | null,
  isMine: boolean | null,
  state: TenantLease["state"],
  heir: string | null,
  region: string | null,
  source: TenantSource,
  isLost: boolean,
  tenants: readonly string[],
  tokens: readonly string[],
];

/** The processes of a fleet: members of the registry that work on `tenants:<name>`, and rows of tenant_leases. */
export class FleetOwnership implements Ownership {
  readonly workerId: string;
  readonly #seams: FleetOwnershipSeams;
  readonly #settings: TenantSettings;
  readonly #queue: string;

  constructor(seams: FleetOwnershipSeams, settings: TenantSettings) {
    this.#seams = seams;
    this.#settings = settings;
    this.#queue = `tenants:${settings.name}`;
    this.workerId = seams.membership.settings.id;
  }

  async join(listener: OwnershipListener): Promise<void> {
    await this.#seams.membership.join(this.#queue, {
      onRing: () => listener.onChange(),
      onWake: () => listener.onChange(),
      onDoubt: () => listener.onDoubt(),
      onSuperseded: () => listener.onSuperseded(),
      onDrainAsked: () => listener.onDrainAsked(),
      load: () => ({ running: listener.load(), inHand: 0 }),
    });
  }

  async leave(): Promise<void> {
    await this.#seams.membership.leave(this.#queue);
  }

  async finish(isClean: boolean): Promise<void> {
    await this.#seams.membership.finish(this.#queue, isClean);
  }

  members(): readonly TenantMember[] {
    return this.#ages()
      .map(({ member: { id, region }, aliveMs }) => ({ id, region, isSettled: aliveMs >= this.#settledMs }))
      .sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  joined(): ReadonlySet<string> {
    const untilMs = this.#settings.tickMs * defaults.tenantJoinedTicks;
    const joined = this.#ages().filter(
      ({ member: { lostMs }, aliveMs }) =>
        aliveMs >= this.#settledMs &&
        aliveMs <= untilMs &&
        (lostMs === null || lostMs > defaults.tenantFlapMs),
    );
    return new Set(joined.map(({ member }) => member.id));
  }

  settlesInMs(): number {
    return this.#ages().reduce((soonest, { aliveMs }) => {
      const inMs = this.#settledMs - aliveMs;
      return inMs > 0 ? Math.min(soonest, inMs + defaults.tenantSettledMarginMs) : soonest;
    }, Number.POSITIVE_INFINITY);
  }

  get #settledMs(): number {
    return this.#settings.tickMs * defaults.tenantSettledShare;
  }

  /** How long each member has been alive without a break. */
  #ages(): readonly { readonly member: Member; readonly aliveMs: number }[] {
    const nowMs = this.#seams.clock.monotonicMs();
    const { membership } = this.#seams;
    const sinceMs = (member: Member): number =>
      member.id === this.workerId ? membership.aliveSinceMs() : member.aliveSinceMs;
    return membership.roster
      .workersOf(this.#queue)
      .map((member) => ({ member, aliveMs: nowMs - sinceMs(member) }));
  }

  registrations(): readonly Registration[] {
    return this.#seams.membership.roster.members;
  }

  async active(): Promise<readonly ActiveWorker[]> {
    const rows = await listWorkers(this.#seams);
    return rows
      .filter((row) => isLiveOn(row, this.#queue))
      .sort((one, other) => (one.id < other.id ? -1 : 1))
      .map(({ id, hostname, pid, region, startedAt, lastSeenAt, expiresInMs, generation }) =>
        Object.freeze({
          ...{ id, hostname, pid, region, startedAt, lastHeartbeatAt: lastSeenAt },
          ...{ expiresInMs, generation },
        }),
      );
  }

  aliveMs(): number {
    const { clock, membership } = this.#seams;
    return clock.monotonicMs() - membership.aliveSinceMs();
  }

  sureForMs(): number {
    return this.#seams.membership.sureForMs();
  }

  async list(only?: readonly string[]): Promise<readonly TenantLease[]> {
    const { bind, clock, database } = this.#seams;
    const { sessionGraceMs: graceMs } = defaults;
    const [row] = await database.run(
      this.#timely(
        bind(listTenantLeases, { ...this.#self(), only: only ?? null, graceMs, now: clock.databaseNow() }),
      ),
    );
    const leases: TenantLease[] = [];
    for (const group of (row?.leases ?? []) as readonly ListedGroup[]) {
      const [owner, isMine, state, heir, region, source, isLost, tenants, tokens] = group;
      for (const [index, tenant] of tenants.entries()) {
        const token = tokens[index] ?? "";
        leases.push({ tenant, owner, isMine: isMine === true, token, state, heir, region, source, isLost });
      }
    }
    return leases;
  }

  /** What exists and what does not are won by statements of their own: each meets its rows in one order. */
  async win(wanted: readonly WantedTenant[]): Promise<ReadonlyMap<string, bigint>> {
    const { bind, clock, database } = this.#seams;
    const won = new Map<string, bigint>();
    const known = wanted.filter(({ seen }) => seen !== 0n);
    const unknown = wanted.filter(({ seen }) => seen === 0n);
    for (const part of [...inParts(known), ...inParts(unknown)]) {
      const query = bind(winTenants, {
        ...this.#self(),
        tenants: part.map(({ tenant }) => tenant),
        seen: part.map(({ seen }) => seen),
        ...placed(part),
        graceMs: defaults.sessionGraceMs,
        now: clock.databaseNow(),
      });
      const rows = await database.run(this.#timely(query));
      for (const { tenant, token } of rows) won.set(tenant, BigInt(token));
    }
    return won;
  }

  async keep(held: readonly (HeldTenant & Pick<WantedTenant, "region" | "source">)[]): Promise<void> {
    const { bind, database } = this.#seams;
    for (const part of inParts(held))
      await database.run(
        this.#timely(bind(keepTenants, { ...this.#self(), ...named(part), ...placed(part) })),
      );
  }

  async own(): Promise<readonly HeldTenant[]> {
    const { bind, database } = this.#seams;
    const rows = await database.run(this.#timely(bind(listOwnTenants, this.#self())));
    return rows.map(({ tenant, token }) => ({ tenant, token: BigInt(token) }));
  }

  async drain(
    held: readonly (HeldTenant & { readonly heir: string | null })[],
    limitMs: number,
  ): Promise<void> {
    const { bind, clock, database } = this.#seams;
    for (const part of inParts(held)) {
      const heirs = part.map(({ heir }) => heir ?? "");
      await database.run(
        this.#timely(
          bind(drainTenants, { ...this.#self(), ...named(part), heirs, limitMs, now: clock.databaseNow() }),
        ),
      );
    }
  }

  async free(held: readonly HeldTenant[]): Promise<void> {
    const { bind, clock, database } = this.#seams;
    for (const part of inParts(held)) {
      const now = clock.databaseNow();
      await database.run(this.#timely(bind(freeTenants, { ...this.#self(), ...named(part), now })));
    }
  }

  async drop(held: readonly HeldTenant[]): Promise<void> {
    const { bind, clock, database } = this.#seams;
    const { sessionGraceMs: graceMs } = defaults;
    for (const part of inParts(held)) {
      const now = clock.databaseNow();
      await database.run(this.#timely(bind(dropTenants, { ...this.#self(), ...named(part), graceMs, now })));
    }
  }

  async markDone(run: string, tenant: string): Promise<void> {
    const { bind, clock, database } = this.#seams;
    const now = clock.databaseNow();
    await database.run(bind(handleOnce, { handler: this.#runName(run), messageId: tenant, now }));
  }

  async doneOf(run: string, tenants: readonly string[]): Promise<ReadonlySet<string>> {
    const { bind, database } = this.#seams;
    const done = new Set<string>();
    for (const part of inParts(tenants.map((tenant) => ({ tenant })))) {
      const messageIds = part.map(({ tenant }) => tenant);
      const query = bind(listHandled, { handler: this.#runName(run), messageIds });
      for (const row of await database.run(this.#timely(query))) done.add(row.message_id);
    }
    return done;
  }

  #runName(run: string): string {
    return `${this.#queue}:${run}`;
  }

  #self(): { readonly supervisor: string; readonly workerId: string; readonly incarnation: string } {
    const { incarnation } = this.#seams.membership.record;
    return { supervisor: this.#settings.name, workerId: this.workerId, incarnation };
  }

  /** What takes longer is asked for again with fresh eyes. */
  #timely<R>(query: Query<R>): Query<R> {
    return { ...query, timeoutMs: defaults.tenantTimeoutMs, triesMax: defaults.workerTriesMax };
  }
}

function named(held: readonly HeldTenant[]): { readonly tenants: string[]; readonly tokens: bigint[] } {
  return { tenants: held.map(({ tenant }) => tenant), tokens: held.map(({ token }) => token) };
}

function placed(wanted: readonly Pick<WantedTenant, "region" | "source">[]): {
  readonly regions: string[];
  readonly sources: string[];
} {
  return { regions: wanted.map(({ region }) => region ?? ""), sources: wanted.map(({ source }) => source) };
}

/** In the order of their names, so that statements of several processes meet their rows in one order, a limited number at a time. */
function inParts<T extends { readonly tenant: string }>(all: readonly T[]): readonly (readonly T[])[] {
  const sorted = [...all].sort((one, other) => (one.tenant < other.tenant ? -1 : 1));
  const parts: T[][] = [];
  for (let from = 0; from < sorted.length; from += defaults.tenantRowsMax)
    parts.push(sorted.slice(from, from + defaults.tenantRowsMax));
  return parts;
}
