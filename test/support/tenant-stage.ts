import { onTestFinished } from "vitest";
import type { ConnectOptions, Leasehold } from "../../src/index.js";
import {
  createTenantSupervisor,
  type TenantSupervisor,
  type TenantSupervisorOptions,
} from "../../src/tenants.js";
import { until } from "../worker/worker-world.js";
import type { World } from "./world.js";

type Supervisor = TenantSupervisor<string>;

export interface Actor {
  readonly lh: Leasehold;
  readonly supervisor: Supervisor;
}

/** A run of a tenant: on which worker, under which token, in which order. */
interface Appearance {
  readonly worker: string;
  readonly tenant: string;
  readonly token: bigint;
}

type ActorOptions = Partial<TenantSupervisorOptions<string>> & { readonly connect?: ConnectOptions };

export const quick = { tickMs: 300, startupMs: 0, drainLimitMs: 1_000, handlesSignals: false } as const;

/** Supervisors of one test, and what runs on them; a tenant that runs twice at once is noted. */
export class Stage {
  readonly #world: World;
  readonly #common: Partial<TenantSupervisorOptions<string>>;
  /** Who runs each tenant now. */
  readonly running: Map<string, string> = new Map();
  readonly appearances: Appearance[] = [];
  readonly overlaps: string[] = [];

  constructor(world: World, common: Partial<TenantSupervisorOptions<string>> = {}) {
    this.#world = world;
    this.#common = common;
  }

  /** A connection with a supervisor that was not started. */
  async cast(workerId: string, more: ActorOptions = {}): Promise<Actor> {
    const { connect, ...options } = more;
    const lh = await this.#world.connect({ workerId, heartbeatMs: 300, ttlMs: 2_000, ...connect });
    return { lh, supervisor: this.on(lh, options) };
  }

  /** The same, started. */
  async enter(workerId: string, more: ActorOptions = {}): Promise<Actor> {
    const actor = await this.cast(workerId, more);
    await actor.supervisor.start();
    return actor;
  }

  on(lh: Leasehold, options: Partial<TenantSupervisorOptions<string>> = {}): Supervisor {
    const supervisor: Supervisor = createTenantSupervisor<string>(lh, {
      fleet: true,
      ...quick,
      start: (tenant, { fenceToken, signal }) => {
        const worker = lh.workerId;
        const other = this.running.get(tenant);
        if (other !== undefined) this.overlaps.push(`${tenant} on ${other} and ${worker}`);
        this.running.set(tenant, worker);
        this.appearances.push({ worker, tenant, token: fenceToken });
        signal.addEventListener("abort", () => {
          if (this.running.get(tenant) === worker) this.running.delete(tenant);
        });
        return `${tenant} on ${worker}`;
      },
      ...this.#common,
      ...options,
    });
    onTestFinished(() => supervisor.stop());
    return supervisor;
  }

  tenantsOf(worker: string): string[] {
    return [...this.running].flatMap(([tenant, owner]) => (owner === worker ? [tenant] : [])).sort();
  }
}

/**
 * Each of them counts as settled with all of them, so that they agree who would run what is cold. Nothing may be hot before. They also agree while all are new, but not for long.
 */
export async function settledFleet(actors: readonly Actor[]): Promise<void> {
  const probes = named("probe ", 40);
  let sinceMs = performance.now();
  await until("all agree for longer than a tick, and everybody owns something", () => {
    const views = actors.map(({ supervisor }) => probes.map((probe) => supervisor.owner(probe)).join());
    const isSo = new Set(views).size === 1 && actors.every(({ lh }) => views[0]?.includes(lh.workerId));
    if (!isSo) sinceMs = performance.now();
    return performance.now() - sinceMs > quick.tickMs;
  });
}

export function named(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}
