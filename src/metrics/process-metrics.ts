import type { Surroundings } from "../leasehold.js";
import { TenantSupervisor } from "../tenants/supervisor.js";
import type { Counts } from "../work/figures.js";
import type { Worker } from "../work/worker.js";
import type { MetricName } from "./definitions.js";
import type { Families } from "./family.js";

const perSecond = 1 / 1_000;
/** Of the bounds of durations, each a quarter of a doubling apart, one for each doubling is exported. */
const everyDoubling = 4;

const counters: Readonly<Record<keyof Counts, MetricName>> = {
  claimedRows: "leasehold_jobs_claimed_total",
  completed: "leasehold_jobs_completed_total",
  retried: "leasehold_jobs_retried_total",
  deadLettered: "leasehold_jobs_dead_lettered_total",
  released: "leasehold_jobs_released_total",
  refused: "leasehold_settles_refused_total",
  renewed: "leasehold_leases_renewed_total",
  leasesLost: "leasehold_leases_lost_total",
  ringChanges: "leasehold_ring_changes_total",
};

/** What this process knows of itself: nothing is asked of the database. */
export function addProcessMetrics(families: Families, around: Surroundings): void {
  const workers = around.workers().filter(({ figures }) => figures !== null);
  for (const worker of workers) addWorker(families, worker);
  if (workers.length > 0) {
    families.add("leasehold_trusted", around.membership.trust.isOpen() ? 1 : 0);
    families.add("leasehold_notifications", around.membership.canBeWoken ? 1 : 0);
  }
  const { statements, failures } = around.database.counts;
  families.add("leasehold_statements_total", statements);
  families.add("leasehold_statements_failed_total", failures);
  families.addHistogram("leasehold_housekeeping_duration_seconds", around.housekeeping, {
    scale: perSecond,
    every: everyDoubling,
  });
  const pool = around.poolCounts?.();
  if (pool !== undefined) {
    families.add("leasehold_pool_connections", pool.total - pool.idle, { state: "busy" });
    families.add("leasehold_pool_connections", pool.idle, { state: "idle" });
    families.add("leasehold_pool_waiting", pool.waiting);
  }
  for (const part of around.attached().values())
    if (part instanceof TenantSupervisor) addTenants(families, part);
}

function addWorker(families: Families, { queueName: queue, figures, load }: Worker): void {
  if (figures === null) return;
  for (const [cause, histogram] of Object.entries(figures.claims))
    families.addHistogram("leasehold_claim_duration_seconds", histogram, {
      labels: { queue, cause },
      scale: perSecond,
      every: everyDoubling,
    });
  families.addHistogram("leasehold_claim_rows", figures.rowsPerClaim, { labels: { queue } });
  for (const [kind, histogram] of figures.handlers)
    families.addHistogram("leasehold_handler_duration_seconds", histogram, {
      labels: { queue, kind },
      scale: perSecond,
      every: everyDoubling,
    });
  for (const [name, metric] of Object.entries(counters))
    families.add(metric, figures.counts[name as keyof Counts], { queue });
  families.add("leasehold_owned_buckets", load.owned, { queue });
  families.add("leasehold_handlers_running", load.running, { queue });
  families.add("leasehold_jobs_held", load.inHand, { queue });
}

function addTenants(families: Families, supervisor: TenantSupervisor): void {
  const { hotTenants, demoteTotal } = supervisor.metrics();
  const labels = { supervisor: supervisor.name };
  families.add("leasehold_tenants_running", hotTenants, labels);
  for (const [reason, count] of Object.entries(demoteTotal))
    families.add("leasehold_tenants_demoted_total", count, { ...labels, reason });
}
