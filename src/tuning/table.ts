import { defaults } from "../settings.js";
import type { Facts } from "./facts.js";
import { hasSession } from "./facts.js";
import type { Setting, TuningSettings } from "./tuning-settings.js";

/** One row of the table of settings. */
export interface TuningRow {
  readonly setting: Setting;
  readonly title: string;
  /** The name of the option; null when the library does it by itself. */
  readonly option: string | null;
  /** Which call takes the option. */
  readonly of: "connect" | "lh.queue" | "lh.worker" | null;
  readonly value: number | null;
  readonly unit: "ms" | "rows" | "bytes" | "buckets" | "points" | "handlers" | "connections";
  readonly rule: string;
  readonly watch: string;
}

type Text = Omit<TuningRow, "value" | "rule"> & { readonly rule: string | ((facts: Facts) => string) };

/** In the order of the articles' table. */
const texts: readonly Text[] = [
  {
    setting: "heartbeatMs",
    title: "Heartbeat interval",
    option: "heartbeatMs",
    of: "connect",
    unit: "ms",
    rule: "A third of the TTL.",
    watch: "Too slow: healthy workers are declared dead. Too fast: writes for nothing.",
  },
  {
    setting: "ttlMs",
    title: "Worker dead TTL",
    option: "ttlMs",
    of: "connect",
    unit: "ms",
    rule: ({ cluster }) =>
      hasSession(cluster)
        ? "Three heartbeats, within the failover target, 6 s to 30 s. Counts when a machine is lost; a crash is noticed by its session within 3 s."
        : "Three heartbeats, within the failover target, 6 s to 30 s. Counts for every crash, because there is no session.",
    watch: "Long: slow failover. Short: workers leave and join for no reason (worker:dead, worker:joined).",
  },
  {
    setting: "leaseMs",
    title: "Lease duration",
    option: "leaseMs",
    of: "lh.worker",
    unit: "ms",
    rule: "Three times the handler's p99, 90 s to 15 min; renewals cover longer handlers.",
    watch: "Too short: leases lost under load and jobs repeated (lease:lost).",
  },
  {
    setting: "renewalMs",
    title: "Lease renewal",
    option: null,
    of: null,
    unit: "ms",
    rule: "A third of the lease, while the handler runs. The worker does it; claims by hand call queue.renew().",
    watch: "Two missed renewals in a row: the row is taken over.",
  },
  {
    setting: "handlerTimeoutMs",
    title: "Handler timeout",
    option: "handlerTimeoutMs",
    of: "lh.worker",
    unit: "ms",
    rule: "Three times the handler's p99, at least 15 min.",
    watch: "Attempts that end with HandlerTimeoutError although they would have finished.",
  },
  {
    setting: "claimBatch",
    title: "Claim batch",
    option: "claimBatch",
    of: "lh.worker",
    unit: "rows",
    rule: "What the handlers finish in 2 s, up to 100; up to 500 for handlers that finish more than that in a quarter of a second. At least one for each.",
    watch: "Large: jobs wait in one worker while another has room. Small: claims cost more than the work.",
  },
  {
    setting: "pollIdleMs",
    title: "Idle poll",
    option: "pollIdleMs",
    of: "lh.worker",
    unit: "ms",
    rule: ({ cluster }) =>
      hasSession(cluster)
        ? "2 s with jitter. New jobs are notified; the poll finds what a notification missed."
        : "0.6 of the latency target, at most 2 s: without LISTEN the poll is the latency.",
    watch: "Statements of idle workers: workers / pollIdleMs.",
  },
  {
    setting: "pollActiveMs",
    title: "Active poll",
    option: "pollActiveMs",
    of: "lh.worker",
    unit: "ms",
    rule: "60 ms, or a third of the latency target if that is less. Used while jobs keep coming.",
    watch: "Database CPU of claims that find nothing.",
  },
  {
    setting: "ringCacheMs",
    title: "Ring cache",
    option: "ringCacheMs",
    of: "connect",
    unit: "ms",
    rule: "8 s (5 s without LISTEN), at most the TTL. Joins and deaths are notified besides.",
    watch: "Long: a new worker gets its buckets late. Short: the registry is read for nothing.",
  },
  {
    setting: "housekeepingMs",
    title: "Housekeeping",
    option: "housekeepingMs",
    of: "lh.worker",
    unit: "ms",
    rule: "30 s. One worker of the fleet does a round.",
    watch: "More often rarely helps.",
  },
  {
    setting: "buckets",
    title: "Partition buckets",
    option: "buckets",
    of: "lh.queue",
    unit: "buckets",
    rule: "20 for each worker, 360 to 1024: ten for each after the fleet has doubled. Fixed when the queue is created.",
    watch: "Few: some workers own more than others. Many: an idle pass looks into all of its own.",
  },
  {
    setting: "vnodes",
    title: "Virtual nodes",
    option: "vnodes",
    of: "lh.queue",
    unit: "points",
    rule: '128 for each worker, with ring: "consistent". The default ring, rendezvous, has none.',
    watch: "Skew of owned buckets in lh.ring().",
  },
  {
    setting: "concurrency",
    title: "Handler concurrency",
    option: "concurrency",
    of: "lh.worker",
    unit: "handlers",
    rule: ({ workload }) =>
      workload.bound === "cpu"
        ? "One for each core: more only makes each slower."
        : `Twice the cores, 4 to 16; with a fixed number of workers as many as the peak needs, at most ${defaults.tuneSlotsMax}.`,
    watch: "Pending age grows while claims are fast: more handlers or workers.",
  },
  {
    setting: "payloadLimitBytes",
    title: "Payload size",
    option: "payloadLimitBytes",
    of: "lh.queue",
    unit: "bytes",
    rule: "Below 2 KB is the aim; the limit is 64 KB, or twice what you send if that is more. Store large data elsewhere and enqueue its id.",
    watch: "Large JSON: slow claims, WAL and vacuum.",
  },
  {
    setting: "retentionMs",
    title: "Completed retention",
    option: "retentionMs",
    of: "lh.queue",
    unit: "ms",
    rule: "7 days, or as many whole days as stay below 100 million rows. The archive has a partition for each day.",
    watch: "Disk. Claims do not depend on it: finished rows leave the queue's table.",
  },
  {
    setting: "connectionsMax",
    title: "Connection pool",
    option: "connectionsMax",
    of: "connect",
    unit: "connections",
    rule: ({ workload }) =>
      workload.usesTransaction
        ? "Handlers + 2 for each process, and one session beside the pool."
        : "5 for each process (claims, outcomes, renewals), and one session beside the pool.",
    watch: "Handlers that wait for a connection; workers x (connectionsMax + 1) against max_connections.",
  },
];

export function tableOf(facts: Facts, settings: TuningSettings): readonly TuningRow[] {
  return Object.freeze(
    texts.map((text) => {
      const rule = typeof text.rule === "string" ? text.rule : text.rule(facts);
      return Object.freeze({ ...text, value: settings[text.setting], rule });
    }),
  );
}

/** The settings as the calls of the library take them. */
export interface TunedOptions {
  readonly connect: Readonly<
    Pick<TuningSettings, "heartbeatMs" | "ttlMs" | "ringCacheMs" | "connectionsMax">
  >;
  readonly queue: Readonly<
    Pick<TuningSettings, "buckets" | "vnodes" | "payloadLimitBytes" | "retentionMs"> & {
      order: "key" | "none";
    }
  >;
  readonly worker: Readonly<
    Pick<
      TuningSettings,
      | "concurrency"
      | "leaseMs"
      | "handlerTimeoutMs"
      | "housekeepingMs"
      | "claimBatch"
      | "pollIdleMs"
      | "pollActiveMs"
    >
  >;
}

export function optionsOf({ workload }: Facts, settings: TuningSettings): TunedOptions {
  const { heartbeatMs, ttlMs, connectionsMax, buckets, vnodes, payloadLimitBytes, retentionMs } = settings;
  const { concurrency, leaseMs, handlerTimeoutMs, housekeepingMs } = settings;
  const { claimBatch, pollIdleMs, pollActiveMs, ringCacheMs } = settings;
  const { order } = workload;
  return Object.freeze({
    connect: Object.freeze({ heartbeatMs, ttlMs, ringCacheMs, connectionsMax }),
    queue: Object.freeze({ order, buckets, vnodes, payloadLimitBytes, retentionMs }),
    worker: Object.freeze({
      concurrency,
      leaseMs,
      handlerTimeoutMs,
      housekeepingMs,
      claimBatch,
      pollIdleMs,
      pollActiveMs,
    }),
  });
}
