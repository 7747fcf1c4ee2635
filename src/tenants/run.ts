import { NotOwnerError, TenantEndedError } from "../errors.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";
import { leaseSignal } from "./lease-signal.js";
import type { DemoteReason, TenantContext } from "./tenant.js";
import type { TenantSupervisorOptions } from "./tenant-settings.js";

export interface RunParts<S> {
  readonly clock: Clock;
  readonly options: Pick<TenantSupervisorOptions<S>, "start" | "stop">;
  isSure(): boolean;
  /** The lease is not sure any more: everything that runs under one must end. */
  onUnsure(): void;
  onFailed(run: TenantRun<S>, error: unknown, againInMs: number): void;
  onThrew(run: TenantRun<S>, error: unknown): void;
}

/** One tenant running on this process under one token: start(), again after a throw, until end(). */
export class TenantRun<S> {
  readonly tenant: string;
  readonly token: bigint;
  readonly beganAtMs: number;
  readonly #parts: RunParts<S>;
  /** Of the attempt under way, or of the wait for the next one. */
  #controller = new AbortController();
  /** Of all that runs under this token beside start(). */
  readonly #life = new AbortController();
  readonly #tasks = new Set<Promise<unknown>>();
  #attempt = 0;
  #isStarted = false;
  #started: S | undefined;
  #isEnding = false;
  /** start() has come back for good, and is not called again. */
  #lived: Promise<void> = Promise.resolve();

  constructor(parts: RunParts<S>, tenant: string, token: bigint) {
    this.#parts = parts;
    this.tenant = tenant;
    this.token = token;
    this.beganAtMs = parts.clock.monotonicMs();
    leaseSignal(this.#life, parts.isSure, parts.onUnsure);
  }

  get attempt(): number {
    return this.#attempt;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Does something short for the tenant under its lease; end() waits for it as it does for start(). */
  async work<T>(task: (tenant: string, context: TenantContext) => Promise<T> | T): Promise<T> {
    if (!this.#parts.isSure()) this.#parts.onUnsure();
    if (this.#isEnding) throw new NotOwnerError(this.tenant, null);
    const context = { signal: this.#life.signal, fenceToken: this.token, attempt: this.#attempt };
    const working = (async () => await task(this.tenant, Object.freeze(context)))();
    const ended = working.then(
      () => {},
      () => {},
    );
    this.#tasks.add(ended);
    void ended.then(() => this.#tasks.delete(ended));
    return await working;
  }

  begin(): void {
    this.#lived = this.#live();
  }

  /** Aborts at once; resolves when start(), stop() and tasks have come back. False when they have not within the limit; `onLate` is called when they have. */
  async end(reason: DemoteReason, limitMs: number, onLate: () => void): Promise<boolean> {
    const { clock } = this.#parts;
    const isUnderWay = this.#isStarted;
    this.#isEnding = true;
    const why = new TenantEndedError(this.tenant, reason);
    this.#controller.abort(why);
    this.#life.abort(why);
    const patience = new AbortController();
    const all = [this.#lived, isUnderWay ? this.#stop() : undefined, ...this.#tasks];
    const ended = Promise.all(all).then(() => true);
    const late = clock.sleep(limitMs, patience.signal).then(() => false);
    const isInTime = await Promise.race([ended, late]);
    patience.abort();
    if (!isInTime) void ended.then(onLate);
    return isInTime;
  }

  async #live(): Promise<void> {
    const { clock, options } = this.#parts;
    while (!this.#isEnding) {
      // After the wait below: a process that was frozen meanwhile must not start anything.
      if (!this.#parts.isSure()) {
        this.#parts.onUnsure();
        return;
      }
      this.#attempt++;
      this.#controller = new AbortController();
      const signal = leaseSignal(this.#controller, this.#parts.isSure, this.#parts.onUnsure);
      this.#isStarted = true;
      try {
        const context = { signal, fenceToken: this.token, attempt: this.#attempt };
        this.#started = await options.start(this.tenant, Object.freeze(context));
        return;
      } catch (error) {
        if (this.#isEnding) return;
        this.#isStarted = false;
        this.#controller.abort(new TenantEndedError(this.tenant, "error"));
        const { tenantRestartMs, tenantRestartMsMax } = defaults;
        const againInMs = Math.min(
          tenantRestartMs * 2 ** Math.min(this.#attempt - 1, 20),
          tenantRestartMsMax,
        );
        this.#parts.onFailed(this, error, againInMs);
        this.#controller = new AbortController();
        await clock.sleep(againInMs, this.#controller.signal);
      }
    }
  }

  async #stop(): Promise<void> {
    try {
      await this.#parts.options.stop?.(this.tenant, this.#started);
    } catch (error) {
      this.#parts.onThrew(this, error);
    }
  }
}
