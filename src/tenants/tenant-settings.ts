import { checkName } from "../database/names.js";
import { InvalidOptionError } from "../errors.js";
import { checkedTickMs } from "../membership/member-settings.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { defaults, flag, wholeNumber } from "../settings.js";
import type { PolicyOptions } from "./policy.js";
import type { HotTenant, TenantContext } from "./tenant.js";

export interface TenantSupervisorOptions<S = unknown> {
  /** Tells supervisors of one schema apart; "tenants" when left out. */
  readonly name?: string | undefined;
  /** False runs every hot tenant in this process and writes nothing; true shares them with all processes of this name. */
  readonly fleet?: boolean | undefined;
  /** The tenants that should be running, asked for at each tick. A text is short for { tenant }. */
  hot?(): Promise<Iterable<string | HotTenant>> | Iterable<string | HotTenant>;
  /** Makes further tenants hot while they are busy. */
  readonly policy?: PolicyOptions | undefined;
  /**
   * Begins to run a tenant. It may come back when all is set up, or only when the tenant's signal was aborted; a throw is tried again after a wait that grows.
   */
  start(tenant: string, context: TenantContext): Promise<S> | S;
  /** Ends it, after its signal was aborted; called also when start() has not come back, then without its result. */
  stop?(tenant: string, started: S | undefined): Promise<void> | void;
  /** WORKER_OWNERSHIP_TICK_MS, or 30 s. */
  readonly tickMs?: number | undefined;
  /** How long a tenant may take to end before somebody else goes on with it. */
  readonly drainLimitMs?: number | undefined;
  /** How long a fleet whose members are all new waits for more of them. */
  readonly startupMs?: number | undefined;
  /** SIGTERM and SIGINT drain, then end the process with 0; a second one ends it at once. False leaves signals to you. */
  readonly handlesSignals?: boolean | undefined;
}

const supervisorOptionNames: OptionNames<TenantSupervisorOptions> = Object.freeze({
  name: true,
  fleet: true,
  hot: true,
  policy: true,
  start: true,
  stop: true,
  tickMs: true,
  drainLimitMs: true,
  startupMs: true,
  handlesSignals: true,
});

export interface TenantSettings {
  readonly name: string;
  readonly isFleet: boolean;
  readonly tickMs: number;
  readonly drainLimitMs: number;
  readonly startupMs: number;
  readonly handlesSignals: boolean;
}

export function tenantSettings(given: TenantSupervisorOptions, tickMs: number): TenantSettings {
  const options = withKnownNames("createTenantSupervisor()", given, supervisorOptionNames);
  for (const [option, isNeeded] of [
    ["start", true],
    ["stop", false],
    ["hot", false],
  ] as const) {
    const value = options[option];
    if (typeof value !== "function" && (isNeeded || value !== undefined))
      throw new InvalidOptionError(option, value, "a function");
  }
  const { drainLimitMsMax } = defaults;
  return Object.freeze({
    name: checkName("supervisor", options.name ?? "tenants"),
    isFleet: flag("fleet", options.fleet, false),
    tickMs: checkedTickMs(options.tickMs, tickMs),
    drainLimitMs: wholeNumber("drainLimitMs", options.drainLimitMs, {
      fallback: defaults.drainLimitMs,
      min: 0,
      max: drainLimitMsMax,
    }),
    startupMs: wholeNumber("startupMs", options.startupMs, {
      fallback: defaults.tenantStartupMs,
      min: 0,
      max: drainLimitMsMax,
    }),
    handlesSignals: flag("handlesSignals", options.handlesSignals, true),
  });
}
