import type { findQueue } from "../database/statements.generated.js";
import { type KindPolicies, kindPolicies } from "./kind-policies.js";
import type { QueueSettings } from "./queue-settings.js";

/** What the row of a queue says; its schema and the limit of a process are not in it. */
export type StoredQueue = Omit<QueueSettings, "schema" | "payloadLimitBytes">;

type QueueRow = Omit<NonNullable<(typeof findQueue)["row"]>, "ring_hash" | "paused_at" | "created_us">;

export function storedQueue(row: QueueRow): StoredQueue {
  return {
    name: row.name,
    order: row.order as "key" | "none",
    strict: row.is_strict,
    onDeadLetter: row.on_dead_letter as "continue" | "park",
    buckets: row.buckets,
    ring: row.ring as "rendezvous" | "consistent",
    vnodes: row.vnodes,
    preferRegions: row.prefer_regions,
    excludeRegions: row.exclude_regions,
    retentionMs: row.retention_ms,
    deadLetterRetentionMs: row.dead_letter_retention_ms,
    dedupeWindowMs: row.dedupe_window_ms,
    maxAttempts: row.max_attempts,
    maxCrashes: row.max_crashes,
    kinds: kindPolicies(row.kinds as KindPolicies),
  };
}
