import { surroundingsOf } from "../../src/leasehold.js";
import { memberSettings } from "../../src/membership/member-settings.js";
import type { Membership } from "../../src/membership/membership.js";
import { WorkerRecord } from "../../src/membership/worker-record.js";
import { FleetOwnership } from "../../src/tenants/fleet-ownership.js";
import type { TenantLease, WantedTenant } from "../../src/tenants/lease.js";
import type { TenantSource } from "../../src/tenants/tenant.js";
import { tenantSettings } from "../../src/tenants/tenant-settings.js";
import { settableClock, type World } from "./world.js";

export const ttlMs = 2_000;
export const graceMs = 1_500;
const load = { version: "1", running: 0, slots: 0, held: 0, idleMs: {}, recent: {} };

type Time = ReturnType<typeof settableClock>;

/** A process of a worker id without loops: it registers, beats and takes tenants when a test says so, at the time that the test gives. */
export class Process {
  readonly id: string;
  readonly record: WorkerRecord;
  readonly ownership: FleetOwnership;

  constructor(world: World, time: Time, about: { id: string; supervisor?: string }) {
    const around = { ...surroundingsOf(world.lh), clock: time };
    const none = { workerId: undefined, heartbeatMs: undefined, ttlMs: undefined };
    const settings = memberSettings(
      { workerId: about.id, heartbeatMs: 500, ttlMs },
      { hostname: "h", pid: 1, ...none },
    );
    this.id = about.id;
    this.record = new WorkerRecord(around, settings);
    const membership = { settings, record: this.record } as unknown as Membership;
    const name = about.supervisor ?? "tenants";
    const options = tenantSettings({ start: () => {}, name, fleet: true }, 1_000);
    this.ownership = new FleetOwnership({ ...around, membership }, options);
  }

  async register(hasSession = false): Promise<this> {
    this.record.hasSession = hasSession;
    this.record.willWorkOn("tenants:tenants");
    await this.record.register(load, "it starts");
    return this;
  }

  async beat(): Promise<string> {
    return await this.record.beat(load);
  }

  /** The token, or null where it was not won. */
  async win(tenant: string, seen = 0n, source: TenantSource = "listed"): Promise<bigint | null> {
    return (await this.ownership.win([wantedOf(tenant, seen, source)])).get(tenant) ?? null;
  }

  async lease(tenant: string): Promise<TenantLease | undefined> {
    return (await this.ownership.list([tenant]))[0];
  }
}

export function wantedOf(tenant: string, seen = 0n, source: TenantSource = "listed"): WantedTenant {
  return { tenant, seen, region: null, source };
}

/** The time of a test, and processes in it. */
export function processesOf(world: World): {
  time: Time;
  process(id: string, supervisor?: string): Process;
  started(id: string, hasSession?: boolean): Promise<Process>;
} {
  const time = settableClock();
  const make = (id: string, supervisor = "tenants"): Process => new Process(world, time, { id, supervisor });
  return { time, process: make, started: (id, hasSession) => make(id).register(hasSession) };
}
