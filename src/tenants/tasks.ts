import { NotOwnerError, TenantEndedError } from "../errors.js";
import type { InTurn } from "../runtime/in-turn.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";
import { holderElsewhere } from "./lease.js";
import { leaseSignal } from "./lease-signal.js";
import type { Ownership } from "./ownership.js";
import type { Runs } from "./runs.js";
import type { TenantContext } from "./tenant.js";
import type { Tick } from "./tick.js";

export type TenantTask<T> = (tenant: string, context: TenantContext) => Promise<T> | T;

export interface TasksParts<S> {
  readonly clock: Clock;
  readonly ownership: Ownership;
  readonly runs: Runs<S>;
  readonly tick: Tick<S>;
  readonly turn: InTurn;
  readonly drainLimitMs: number;
}

/** Short tasks: under the lease of a tenant that runs here, or, for a cold one, under a lease of their own. */
export class Tasks<S> {
  readonly #parts: TasksParts<S>;
  readonly #controllers = new Map<string, AbortController>();
  /** Their leases were given up though they have not come back. */
  readonly #stuck = new Set<string>();
  #isClosed = false;
  #onEmpty: () => void = () => {};

  constructor(parts: TasksParts<S>) {
    this.#parts = parts;
  }

  /** Those that hold a lease. */
  get size(): number {
    return this.#controllers.size;
  }

  has(tenant: string): boolean {
    return this.#controllers.has(tenant) || this.#stuck.has(tenant);
  }

  /** Runs the task if this process owns the tenant, or throws NotOwnerError. */
  async run<T>(tenant: string, task: TenantTask<T>): Promise<T> {
    const { ownership, runs, tick, turn } = this.#parts;
    if (this.#isClosed) throw new NotOwnerError(tenant, null);
    const run = runs.get(tenant);
    if (run !== undefined) return await run.work(task);
    const owner = tick.ownerOf(tenant);
    if (owner !== ownership.workerId) throw new NotOwnerError(tenant, owner);
    const { controller, token } = await turn.run(() => this.#win(tenant));
    const signal = leaseSignal(
      controller,
      () => ownership.sureForMs() > 0,
      () => void runs.endUnsure(),
    );
    runs.doubt();
    try {
      if (signal.aborted) throw new NotOwnerError(tenant, null);
      return await this.#within(controller, tenant, task(tenant, { signal, fenceToken: token, attempt: 1 }));
    } finally {
      await ownership.drop([{ tenant, token }]).catch(() => {}); // The next tick gives up what is left.
      controller.abort(new TenantEndedError(tenant, "idle"));
      this.#controllers.delete(tenant);
      if (this.#controllers.size === 0) this.#onEmpty();
    }
  }

  /** Starts no further one, and aborts those under way. Calls when they have come back, or their leases were given up. */
  close(onEmpty: () => void): void {
    this.#isClosed = true;
    this.#onEmpty = onEmpty;
    this.endAll("drain");
    if (this.#controllers.size === 0) onEmpty();
  }

  end(tenant: string, reason: string): void {
    this.#controllers.get(tenant)?.abort(new TenantEndedError(tenant, reason));
  }

  endAll(reason: string): void {
    for (const tenant of this.#controllers.keys()) this.end(tenant, reason);
  }

  /** What the task resolves with. One that takes too long is aborted; one that does not heed that within the drain limit is given up. */
  async #within<T>(controller: AbortController, tenant: string, working: Promise<T> | T): Promise<T> {
    const { clock, drainLimitMs } = this.#parts;
    const over = new AbortController();
    const late = (async (): Promise<never> => {
      await clock.sleep(defaults.taskTimeoutMs, AbortSignal.any([controller.signal, over.signal]));
      if (!over.signal.aborted) controller.abort(new TenantEndedError(tenant, "error"));
      await clock.sleep(drainLimitMs, over.signal);
      throw new TenantEndedError(tenant, "error");
    })();
    late.catch(() => {});
    let isBack = false;
    const back = Promise.resolve(working).finally(() => {
      isBack = true;
      this.#stuck.delete(tenant);
    });
    back.catch(() => {});
    try {
      return await Promise.race([back, late]);
    } finally {
      over.abort();
      if (!isBack) this.#stuck.add(tenant);
    }
  }

  async #win(tenant: string): Promise<{ readonly controller: AbortController; readonly token: bigint }> {
    const { ownership, tick, runs } = this.#parts;
    const { workerId } = ownership;
    for (let tries = 0; tries < defaults.taskTriesMax; tries++) {
      if (this.#isClosed || ownership.sureForMs() <= 0) break;
      const [lease] = await ownership.list([tenant]);
      const holder = holderElsewhere(lease);
      if (holder !== null) throw new NotOwnerError(tenant, holder);
      // A hot tenant that nobody runs for now is for its next owner to start.
      const isHot = lease !== undefined && lease.source !== "task";
      const owner = isHot ? null : tick.ownerOf(tenant);
      if (owner !== workerId || this.has(tenant) || runs.isBusy(tenant))
        throw new NotOwnerError(tenant, owner);
      const wanted = { tenant, seen: BigInt(lease?.token ?? 0), region: null, source: "task" } as const;
      const token = (await ownership.win([wanted])).get(tenant);
      if (token === undefined) continue;
      const controller = new AbortController();
      this.#controllers.set(tenant, controller);
      return { controller, token };
    }
    throw new NotOwnerError(tenant, null);
  }
}
