import type { QueueSummary } from "../src/index.js";
import { span } from "./figures.js";
import { pairs } from "./table.js";
import type { View } from "./view.js";

export function orderOf({ order, strict, onDeadLetter }: QueueSummary): string {
  return [order, ...(strict ? ["strict"] : []), ...(onDeadLetter === "park" ? ["park"] : [])].join(", ");
}

export function kept(retentionMs: number): string {
  return retentionMs === 0 ? "nothing" : span(retentionMs);
}

export function shown(queue: QueueSummary): View {
  return {
    data: queue,
    lines: (screen) =>
      pairs(screen, [
        ["queue", queue.name],
        ["order", orderOf(queue)],
        [
          "buckets",
          `${queue.buckets}, ring ${queue.ring}${queue.ring === "consistent" ? `, ${queue.vnodes} vnodes` : ""}`,
        ],
        ["regions", regionsOf(queue)],
        ["attempts", `${queue.maxAttempts} errors, ${queue.maxCrashes} crashes`],
        ["kinds", Object.keys(queue.kinds).length === 0 ? "-" : JSON.stringify(queue.kinds)],
        ["finished jobs kept", kept(queue.retentionMs)],
        [
          "dead letters kept",
          queue.deadLetterRetentionMs === 0 ? "for ever" : kept(queue.deadLetterRetentionMs),
        ],
        ["idempotency window", span(queue.dedupeWindowMs)],
        ["created", queue.createdAt.toISOString()],
        ["paused", queue.pausedAt === null ? "no" : `since ${queue.pausedAt.toISOString()}`],
      ]),
  };
}

function regionsOf({ preferRegions, excludeRegions }: QueueSummary): string {
  const words = [
    ...(preferRegions.length > 0 ? [`prefers ${preferRegions.join(", ")}`] : []),
    ...(excludeRegions.length > 0 ? [`excludes ${excludeRegions.join(", ")}`] : []),
  ];
  return words.length === 0 ? "any" : words.join("; ");
}
