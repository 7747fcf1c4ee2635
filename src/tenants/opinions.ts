/**
 * What this process thinks of the tenants it runs: that one should move, to whom, and since when it has thought so without a break. A tenant moves when two ticks in a row,
 * a tick apart, agree. A member that comes and goes in between changes nothing.
 */
export class Opinions {
  readonly #ripeMs: number;
  readonly #held = new Map<string, { readonly target: string; readonly sinceMs: number }>();

  constructor(ripeMs: number) {
    this.#ripeMs = ripeMs;
  }

  /** Notes the opinion of a tick about a tenant. True when it is old enough to act on. */
  isRipe(tenant: string, target: string, nowMs: number): boolean {
    const before = this.#held.get(tenant);
    if (before?.target === target) return nowMs - before.sinceMs >= this.#ripeMs;
    this.#held.set(tenant, { target, sinceMs: nowMs });
    return false;
  }

  /** It may stay, or is gone. */
  forget(tenant: string): void {
    this.#held.delete(tenant);
  }
}
