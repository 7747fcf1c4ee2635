import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { now } from "./fleet.js";
import type { TenantMessage, TenantProcessSettings } from "./tenant-process.js";
import type { World } from "./world.js";

/** A tenant on one process from its start to its end. */
export interface TenantRunTold {
  readonly tenant: string;
  readonly worker: string;
  readonly token: bigint;
  readonly from: number;
  /** When it ended, or its process did; null while it runs. */
  to: number | null;
  abortedAt: number | null;
  readonly acts: number[];
}

export interface TenantProcess {
  readonly id: string;
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  readonly events: Extract<TenantMessage, { is: "event" }>[];
  readonly refused: string[];
}

const processFile = join(process.cwd(), "build/test/support/tenant-process.js");

/** Supervisor processes of one test, and everything that ran on them. */
export class TenantFleet {
  readonly runs: TenantRunTold[] = [];
  readonly processes: Map<string, TenantProcess> = new Map();
  readonly #settings: Omit<TenantProcessSettings, "workerId">;
  readonly #open = new Map<string, TenantRunTold>();

  constructor(world: World, settings: Omit<TenantProcessSettings, "workerId" | "url" | "schema">) {
    this.#settings = { url: world.url, schema: world.schema, ...settings };
    onTestFinished(() => this.#end());
  }

  get tenants(): number {
    return this.#settings.tenants;
  }

  async add(id: string, more: Partial<TenantProcessSettings> = {}): Promise<TenantProcess> {
    const settings = { ...this.#settings, ...more, workerId: id };
    const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
    const child = fork(processFile, [JSON.stringify(settings)], { stdio: [...stdio] });
    const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
    const one: TenantProcess = { id, child, exited, events: [], refused: [] };
    this.processes.set(id, one);
    await new Promise<void>((resolve, reject) => {
      child.on("message", (message: TenantMessage) => {
        if (message.is === "ready") resolve();
        else this.#note(one, message);
      });
      void exited.then((code) => {
        this.#gone(one);
        reject(new Error(`the process ${id} ended with ${code} before it was ready`));
      });
    });
    return one;
  }

  /** SIGKILL. Resolves with the time at which it was sent, when the process is gone. */
  async kill(one: TenantProcess): Promise<number> {
    const at = now();
    one.child.kill("SIGKILL");
    await one.exited;
    return at;
  }

  /** SIGTERM. Resolves with the time at which it was sent, when the process is gone. */
  async drain(one: TenantProcess): Promise<number> {
    const at = now();
    one.child.kill("SIGTERM");
    expect(await one.exited).toBe(0);
    return at;
  }

  /** What runs now, by worker. */
  loads(): ReadonlyMap<string, number> {
    const loads = new Map([...this.processes.keys()].map((id) => [id, 0]));
    for (const run of this.#open.values()) loads.set(run.worker, (loads.get(run.worker) ?? 0) + 1);
    return loads;
  }

  /** Who runs each tenant now. */
  owners(): ReadonlyMap<string, string> {
    return new Map([...this.#open.values()].map(({ tenant, worker }) => [tenant, worker]));
  }

  isComplete(): boolean {
    return this.owners().size === this.tenants;
  }

  /** The farthest from an even share, as a part of it. */
  unevenness(): number {
    const loads = [...this.loads().values()];
    const even = this.tenants / loads.length;
    return Math.max(...loads.map((load) => Math.abs(load - even) / even));
  }

  /** Pairs of runs of one tenant that overlap in time; two processes tell their times, so a hair's breadth is none. */
  overlaps(hairMs = 1): readonly string[] {
    const byTenant = new Map<string, TenantRunTold[]>();
    for (const run of this.runs) byTenant.set(run.tenant, [...(byTenant.get(run.tenant) ?? []), run]);
    return [...byTenant.values()].flatMap((runs) => {
      const sorted = [...runs].sort((one, other) => one.from - other.from);
      return sorted.flatMap((run, index) => {
        const next = sorted[index + 1];
        if (next === undefined || (run.to ?? Number.POSITIVE_INFINITY) <= next.from + hairMs) return [];
        return [`${run.tenant}: ${run.worker} until ${run.to}, ${next.worker} from ${next.from}`];
      });
    });
  }

  /** Later starts whose token is not higher. */
  fallingTokens(): readonly string[] {
    const highest = new Map<string, bigint>();
    return this.runs.flatMap(({ tenant, token, worker }) => {
      const isFalling = token <= (highest.get(tenant) ?? 0n);
      highest.set(tenant, token);
      return isFalling ? [`${tenant} on ${worker} under ${token}`] : [];
    });
  }

  #note(one: TenantProcess, message: Exclude<TenantMessage, { is: "ready" }>): void {
    if (message.is === "event") one.events.push(message);
    else if (message.is === "refused") one.refused.push(message.tenant);
    else this.#noteRun(one, message);
  }

  #noteRun(
    one: TenantProcess,
    message: Extract<TenantMessage, { is: "start" | "act" | "abort" | "end" }>,
  ): void {
    const { tenant, token, at } = message;
    const key = `${one.id} ${tenant} ${token}`;
    if (message.is === "start") {
      const run = {
        tenant,
        worker: one.id,
        token: BigInt(token),
        from: at,
        to: null,
        abortedAt: null,
        acts: [],
      };
      this.runs.push(run);
      this.#open.set(key, run);
      return;
    }
    const run = this.runs.findLast((told) => told.tenant === tenant && told.token === BigInt(token));
    if (run === undefined) throw new Error(`${key} was told of before it started`);
    if (message.is === "act") run.acts.push(at);
    else if (message.is === "abort") run.abortedAt = at;
    else {
      run.to = at;
      this.#open.delete(key);
    }
  }

  #gone(one: TenantProcess): void {
    if (this.processes.get(one.id) === one) this.processes.delete(one.id);
    for (const [key, run] of this.#open) {
      if (run.worker !== one.id) continue;
      run.to = now();
      this.#open.delete(key);
    }
  }

  async #end(): Promise<void> {
    const all = [...this.processes.values()];
    for (const { child } of all) child.kill("SIGKILL");
    await Promise.all(all.map(({ exited }) => exited));
  }
}
