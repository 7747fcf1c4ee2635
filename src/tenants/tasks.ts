import { NotOwnerError, TenantEndedError } from "../errors.js";
import type { InTurn } from "../runtime/in-turn.js";
import { defaults } from "../settings.js";
import { leaseSignal } from "./lease-signal.js";
import type { Ownership } from "./ownership.js";
import type { Runs } from "./runs.js";
import type { TenantContext } from "./tenant.js";
import type { Tick } from "./tick.js";

export type TenantTask<T> = (tenant: string, context: TenantContext) => Promise<T> | T;

export interface TasksParts<S> {
  readonly ownership: Ownership;
  readonly runs: Runs<S>;
  readonly tick: Tick<S>;
  readonly turn: InTurn;
}

/** Short tasks: under the lease of a tenant that runs here, or, for a cold one, under a lease of their own. */
export class Tasks<S> {
  readonly #parts: TasksParts<S>;
  readonly #controllers = new Map<string, AbortController>();
  #isClosed = false;
  #onEmpty: () => void = () => {};

  constructor(parts: TasksParts<S>) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#controllers.size;
  }

  has(tenant: string): boolean {
    return this.#controllers.has(tenant);
  }

  /** Runs the task if this process owns the tenant, or throws NotOwnerError. */
  async run<T>(tenant: string, task: TenantTask<T>): Promise<T> {
    if (this.#isClosed) throw new NotOwnerError(tenant, null);
    const run = this.#parts.runs.get(tenant);
    if (run !== undefined) return await run.work(task);
    const { controller, token } = await this.#parts.turn.run(() => this.#win(tenant));
    const { ownership } = this.#parts;
    const isSure = (): boolean => ownership.sureForMs() > 0;
    const signal = leaseSignal(controller, isSure, () => this.endUnsure());
    try {
      return await task(tenant, { signal, fenceToken: token, attempt: 1 });
    } finally {
      await ownership.drop([{ tenant, token }]).catch(() => {}); // The next tick gives up what is left.
      this.#controllers.delete(tenant);
      if (this.#controllers.size === 0) this.#onEmpty();
    }
  }

  /** Starts no further one, and aborts those under way. Calls when they have come back. */
  close(onEmpty: () => void): void {
    this.#isClosed = true;
    this.#onEmpty = onEmpty;
    this.endAll("drain");
    if (this.#controllers.size === 0) onEmpty();
  }

  endUnsure(): void {
    if (this.#parts.ownership.sureForMs() > 0) return;
    this.endAll("evicted");
  }

  endAll(reason: string): void {
    for (const [tenant, controller] of this.#controllers)
      controller.abort(new TenantEndedError(tenant, reason));
  }

  async #win(tenant: string): Promise<{ readonly controller: AbortController; readonly token: bigint }> {
    const { ownership, tick } = this.#parts;
    const { workerId } = ownership;
    for (let tries = 0; tries < defaults.taskTriesMax; tries++) {
      const [lease] = await ownership.list([tenant]);
      const isHeld = lease !== undefined && lease.owner !== null && !lease.isLost && !lease.isMine;
      // A hot tenant that nobody runs for now is for its next owner to start.
      const isHot = lease !== undefined && lease.source !== "task";
      const next = isHot ? null : tick.ownerOf(tenant);
      const owner = isHeld ? lease.owner : next;
      if (owner !== workerId || isHeld || this.has(tenant) || this.#parts.runs.isBusy(tenant))
        throw new NotOwnerError(tenant, owner);
      const wanted = { tenant, seen: BigInt(lease?.token ?? 0), region: null, source: "task" } as const;
      const token = this.#isClosed ? undefined : (await ownership.win([wanted])).get(tenant);
      if (token === undefined) continue;
      const controller = new AbortController();
      this.#controllers.set(tenant, controller);
      return { controller, token };
    }
    throw new NotOwnerError(tenant, null);
  }
}
