import type { Entry } from "../../../simulation/entries.js";
import { tenantViolationsOf } from "../../../simulation/tenants/checkers/all.js";
import type { TenantNote } from "../../../simulation/tenants/entries.js";
import type { TenantHistorySettings } from "../../../simulation/tenants/history.js";

const settings: TenantHistorySettings = {
  tenants: ["t"],
  ttlMs: 1_000,
  tickMs: 500,
  soonMs: 300,
  lateMs: 2_000,
  shareMs: null,
};

/** Writes histories of one tenant. */
export class TenantHistoryBuilder {
  readonly entries: Entry[] = [];
  atMs = 0;

  tick(ms = 1): this {
    this.atMs += ms;
    return this;
  }

  join(...processes: string[]): this {
    for (const process of processes) this.#add({ is: "joined", process, atMs: this.atMs });
    return this;
  }

  fault(process: string, what: string, state: "hit" | "ok" | "gone" = "hit"): this {
    return this.#add({ is: "fault", process, what, state, atMs: this.tick().atMs });
  }

  begin(process: string, token: bigint): this {
    return this.note("began", process, token);
  }

  act(process: string, token: bigint): this {
    return this.note("acted", process, token);
  }

  /** It ends in good order, and its lease is given up. */
  stop(process: string, token: bigint, reason = "drain"): this {
    return this.note("aborted", process, token)
      .note("ended", process, token)
      .note("stopped", process, token, { reason });
  }

  note(
    what: TenantNote["what"],
    process: string,
    token: bigint,
    more: { readonly reason?: string; readonly isStuck?: boolean } = {},
  ): this {
    const { reason = null, isStuck = false } = more;
    const { atMs } = this.tick();
    return this.#add({ is: "tenant", what, process, tenant: "t", token, reason, isStuck, atMs });
  }

  #add(entry: Entry): this {
    this.entries.push(entry);
    return this;
  }
}

/** The checkers that object, with two processes from the start. */
export function tenantObjections(
  build: (h: TenantHistoryBuilder) => unknown,
  more: Partial<TenantHistorySettings> = {},
): string[] {
  const h = new TenantHistoryBuilder().join("a#1", "b#1");
  build(h);
  const violations = tenantViolationsOf({ settings: { ...settings, ...more }, entries: h.entries });
  return [...new Set(violations.map((violation) => violation.checker))].sort();
}
