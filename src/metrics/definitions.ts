/** A metric: its name in Prometheus, what it means, and its labels. Never a key or the id of a job or worker: such labels grow without end. */
export interface Definition {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
}

/** Every metric there is. Those whose help names this process are counted by it alone; of the others every process that exports them says the same. */
export const definitions = {
  leasehold_jobs: {
    type: "gauge",
    labels: ["queue", "status"],
    help: "Jobs in the queue's table by status.",
  },
  leasehold_jobs_due: { type: "gauge", labels: ["queue"], help: "Pending jobs that are due now." },
  leasehold_jobs_retrying: { type: "gauge", labels: ["queue"], help: "Jobs that wait for another attempt." },
  leasehold_oldest_due_age_seconds: {
    type: "gauge",
    labels: ["queue"],
    help: "For how long the oldest due job has been due: the lag that users feel.",
  },
  leasehold_queue_paused: { type: "gauge", labels: ["queue"], help: "1 while the queue is paused." },
  leasehold_table_bytes: {
    type: "gauge",
    labels: ["queue"],
    help: "Size of the queue's table without indexes.",
  },
  leasehold_dead_tuples: {
    type: "gauge",
    labels: ["queue"],
    help: "Dead rows of the queue's table that vacuum has not removed.",
  },
  leasehold_archive_rows: {
    type: "gauge",
    labels: ["queue"],
    help: "Rows of the queue's archive, as the planner's statistics estimate them.",
  },
  leasehold_oldest_snapshot_age_seconds: {
    type: "gauge",
    labels: [],
    help: "Age of the oldest transaction that keeps dead rows from being removed.",
  },
  leasehold_replica_lag_seconds: {
    type: "gauge",
    labels: [],
    help: "How far the replica of replicaUrl is behind the primary; left out while it is not used.",
  },
  leasehold_workers: { type: "gauge", labels: ["state"], help: "Registered workers by state." },
  leasehold_workers_failing: {
    type: "gauge",
    labels: ["queue"],
    help: "Live workers whose claims or settles of the queue always fail.",
  },
  leasehold_claim_duration_seconds: {
    type: "histogram",
    labels: ["queue", "cause"],
    help: "How long claims of this process took, by what caused them.",
  },
  leasehold_claim_rows: {
    type: "histogram",
    labels: ["queue"],
    help: "Jobs that a claim of this process brought.",
  },
  leasehold_handler_duration_seconds: {
    type: "histogram",
    labels: ["queue", "kind"],
    help: "How long handlers of this process took, by kind.",
  },
  leasehold_jobs_claimed_total: { type: "counter", labels: ["queue"], help: "Jobs claimed by this process." },
  leasehold_jobs_completed_total: {
    type: "counter",
    labels: ["queue"],
    help: "Jobs completed by this process.",
  },
  leasehold_jobs_retried_total: {
    type: "counter",
    labels: ["queue"],
    help: "Attempts of this process that failed and are tried again.",
  },
  leasehold_jobs_dead_lettered_total: {
    type: "counter",
    labels: ["queue"],
    help: "Jobs that became dead letters by a settle of this process.",
  },
  leasehold_jobs_released_total: {
    type: "counter",
    labels: ["queue"],
    help: "Jobs that this process gave back unstarted.",
  },
  leasehold_settles_refused_total: {
    type: "counter",
    labels: ["queue"],
    help: "Outcomes of this process that changed nothing, because the job belonged to another worker.",
  },
  leasehold_leases_renewed_total: {
    type: "counter",
    labels: ["queue"],
    help: "Leases renewed by this process.",
  },
  leasehold_leases_lost_total: { type: "counter", labels: ["queue"], help: "Leases that this process lost." },
  leasehold_ring_changes_total: {
    type: "counter",
    labels: ["queue"],
    help: "How often the buckets of this process changed.",
  },
  leasehold_owned_buckets: { type: "gauge", labels: ["queue"], help: "Buckets that this process owns." },
  leasehold_handlers_running: { type: "gauge", labels: ["queue"], help: "Handlers running in this process." },
  leasehold_jobs_held: {
    type: "gauge",
    labels: ["queue"],
    help: "Jobs that this process has claimed and not settled.",
  },
  leasehold_trusted: {
    type: "gauge",
    labels: [],
    help: "1 while a heartbeat of this process was accepted lately, so that it may claim.",
  },
  leasehold_notifications: {
    type: "gauge",
    labels: [],
    help: "1 while notifications reach this process; 0 while it polls.",
  },
  leasehold_statements_total: {
    type: "counter",
    labels: [],
    help: "Statements that this process sent, without those in transactions of yours.",
  },
  leasehold_statements_failed_total: {
    type: "counter",
    labels: [],
    help: "Statements of this process that failed; some of them were tried again.",
  },
  leasehold_pool_connections: {
    type: "gauge",
    labels: ["state"],
    help: "Connections of the pool of this process that are busy or idle.",
  },
  leasehold_pool_waiting: {
    type: "gauge",
    labels: [],
    help: "Statements of this process that wait for a connection.",
  },
  leasehold_system_metrics_up: {
    type: "gauge",
    labels: [],
    help: "1 when the last collection of this process from the database worked; 0 when it failed, and the metrics of the system are left out.",
  },
  leasehold_housekeeping_duration_seconds: {
    type: "histogram",
    labels: [],
    help: "How long rounds of housekeeping by this process took.",
  },
  leasehold_tenants_running: {
    type: "gauge",
    labels: ["supervisor"],
    help: "Hot tenants that run in this process.",
  },
  leasehold_tenants_demoted_total: {
    type: "counter",
    labels: ["supervisor", "reason"],
    help: "Tenants that ended in this process, by reason.",
  },
} as const;
Object.freeze(definitions);

export type MetricName = keyof typeof definitions;
