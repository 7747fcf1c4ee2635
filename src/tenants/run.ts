import { TenantEndedError } from "../errors.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";
import { leaseSignal } from "./lease-signal.js";
import type { DemoteReason } from "./tenant.js";
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
  #controller = new AbortController();
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
  }

  get attempt(): number {
    return this.#attempt;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Of the attempt under way. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  begin(): void {
    this.#lived = this.#live();
  }

  /** Aborts at once; resolves when start() and stop() have come back. False when they have not within the limit; `onLate` is called when they have. */
  async end(reason: DemoteReason, limitMs: number, onLate: () => void): Promise<boolean> {
    const { clock } = this.#parts;
    const isUnderWay = this.#isStarted;
    this.#isEnding = true;
    this.#controller.abort(new TenantEndedError(this.tenant, reason));
    const patience = new AbortController();
    const ended = Promise.all([this.#lived, isUnderWay ? this.#stop() : undefined]).then(() => true);
    const late = clock.sleep(limitMs, patience.signal).then(() => false);
    const isInTime = await Promise.race([ended, late]);
    patience.abort();
    if (!isInTime) void ended.then(onLate);
    return isInTime;
  }

  async #live(): Promise<void> {
    const { clock, options } = this.#parts;
    while (!this.#isEnding) {
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
