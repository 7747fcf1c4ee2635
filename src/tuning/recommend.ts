import { type Warning, type WarningCode, warningsOf } from "./check.js";
import { chooseSettings, failoverOf, neededWorkers } from "./choose.js";
import type { Facts } from "./facts.js";
import { handlerTimes } from "./handler-times.js";
import { type Cluster, qualifiedCluster, qualifiedWorkload, type Workload } from "./inputs.js";
import { type Limit, limitsOf } from "./limits.js";
import { optionsOf, type TunedOptions, type TuningRow, tableOf } from "./table.js";
import { checkedSettings, type TuningSettings } from "./tuning-settings.js";

export interface Recommendation {
  readonly settings: TuningSettings;
  /** Every setting with its option, its value, the rule behind it and what to watch. */
  readonly rows: readonly TuningRow[];
  /** The same values for `connect`, `lh.queue` and `lh.worker`. */
  readonly options: TunedOptions;
  /** Workers with the recommended concurrency that carry the peak within the latency target. */
  readonly workersNeeded: number;
  /** What ends first, and at what rate. */
  readonly limit: Limit;
  readonly limits: readonly Limit[];
  /** Whether the targets can be kept. */
  readonly meets: { readonly latency: boolean; readonly failover: boolean };
  /** What was asked for, or the defaults: 99 % of the jobs start within `latencyMs`, those of a crashed worker run again within `failoverMs`. */
  readonly targets: { readonly latencyMs: number; readonly failoverMs: number };
  readonly failover: { readonly crashMs: number; readonly lostMachineMs: number };
  /** What about the workload, the cluster or the targets does not go together. */
  readonly warnings: readonly Warning[];
}

const breaksLatency: ReadonlySet<WarningCode> = new Set<WarningCode>([
  "workers_few",
  "hot_key",
  "key_latency",
  "database_busy",
  "connections_few",
  "latency_target",
  "poll_above_latency",
]);

/** Settings for a workload on a cluster, with reasons. Pure: it knows only what it is told and what the bench measured (costs.ts). */
export function recommend(cluster: Cluster, workload: Workload): Recommendation {
  const facts = factsOf(cluster, workload);
  const settings = chooseSettings(facts);
  const limits = limitsOf(facts, settings);
  const [limit] = limits;
  if (limit === undefined) throw new RangeError("There is no limit to name.");
  const warnings = warningsOf(facts, settings);
  const codes = warnings.map(({ code }) => code);
  return Object.freeze({
    settings,
    rows: tableOf(facts, settings),
    options: optionsOf(facts, settings),
    workersNeeded: neededWorkers(facts, settings.concurrency),
    limit,
    limits,
    meets: Object.freeze({
      latency: !codes.some((code) => breaksLatency.has(code)),
      failover: !codes.includes("failover_target"),
    }),
    targets: Object.freeze({
      latencyMs: facts.workload.latencyTargetMs,
      failoverMs: facts.workload.failoverTargetMs,
    }),
    failover: failoverOf(facts, settings),
    warnings,
  });
}

/** What does not go together in settings of yours. Settings that are left out are as recommended. */
export function check(
  cluster: Cluster,
  workload: Workload,
  settings: Partial<TuningSettings>,
): readonly Warning[] {
  const facts = factsOf(cluster, workload);
  return warningsOf(facts, completeSettings(facts, settings));
}

export function factsOf(cluster: Cluster, workload: Workload): Facts {
  const checked = { cluster: qualifiedCluster(cluster), workload: qualifiedWorkload(workload) };
  const { handlerP50Ms, handlerP99Ms } = checked.workload;
  return Object.freeze({ ...checked, times: handlerTimes(handlerP50Ms, handlerP99Ms) });
}

/** Where something is left out, the recommendation. */
export function completeSettings(facts: Facts, given: Partial<TuningSettings>): TuningSettings {
  const told = Object.entries(checkedSettings(given)).filter(([, value]) => value !== undefined);
  return Object.freeze({ ...chooseSettings(facts), ...Object.fromEntries(told) });
}
