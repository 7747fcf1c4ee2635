/** The names of the conventions for messaging, which are not stable yet: they are in this file and nowhere else. */
import type { definitions, MetricName } from "../metrics/definitions.js";

export const messaging = {
  system: "messaging.system",
  destination: "messaging.destination.name",
  operation: "messaging.operation.name",
  operationType: "messaging.operation.type",
  messageId: "messaging.message.id",
  batchCount: "messaging.batch.message_count",
  errorType: "error.type",
  kind: "leasehold.job.kind",
  attempt: "leasehold.job.attempt",
  cause: "leasehold.claim.cause",
  operationDuration: "messaging.client.operation.duration",
  processDuration: "messaging.process.duration",
  sent: "messaging.client.sent.messages",
  consumed: "messaging.client.consumed.messages",
} as const;
Object.freeze(messaging);

/** The value of messaging.system. */
export const systemName = "leasehold";

/** In seconds, as the conventions advise. */
export const durationBoundaries: readonly number[] = Object.freeze([
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]);

type HistogramName = {
  [N in MetricName]: (typeof definitions)[N]["type"] extends "histogram" ? N : never;
}[MetricName];

/** Histograms are recorded as things happen. Those that the conventions have a name for have that name. */
export const histogramNames: Readonly<Record<HistogramName, string>> = Object.freeze({
  leasehold_claim_duration_seconds: messaging.operationDuration,
  leasehold_handler_duration_seconds: messaging.processDuration,
  leasehold_claim_rows: "leasehold.claim_rows",
  leasehold_housekeeping_duration_seconds: "leasehold.housekeeping_duration",
});

const units: readonly (readonly [suffix: string, unit: string])[] = [
  ["_seconds", "s"],
  ["_bytes", "By"],
];

/** The name and unit of a metric here. An exporter for Prometheus makes the name of the definition of it again. */
export function instrumentName(name: MetricName): { readonly name: string; readonly unit: string } {
  const bare = name.replace(/^leasehold_/, "").replace(/_total$/, "");
  const [suffix, unit] = units.find(([ending]) => bare.endsWith(ending)) ?? ["", ""];
  return { name: `leasehold.${bare.slice(0, bare.length - suffix.length)}`, unit };
}
