import { costs } from "./costs.js";
import type { QualifiedWorkload } from "./inputs.js";

export function jobDatabaseUs(workload: QualifiedWorkload, hasArchive: boolean): number {
  const { enqueueUs, workUs, archiveUs } = costs;
  const base = enqueueUs[workload.order] + workUs[workload.order] + (hasArchive ? archiveUs : 0);
  return base + costs.payloadDatabaseUs * extraKb(workload.payloadBytes);
}

export function jobNodeUs({ order, payloadBytes }: QualifiedWorkload): number {
  return costs.nodeUs[order] + costs.payloadNodeUs * extraKb(payloadBytes);
}

function extraKb(payloadBytes: number): number {
  return Math.max(0, payloadBytes - costs.payloadBytes) / 1_024;
}
