import type { HandlerTimes } from "./handler-times.js";
import type { QualifiedCluster, QualifiedWorkload } from "./inputs.js";

/** What is known before anything is decided. */
export interface Facts {
  readonly cluster: QualifiedCluster;
  readonly workload: QualifiedWorkload;
  readonly times: HandlerTimes;
}

/** LISTEN and session locks need a connection that stays with one client. */
export function hasSession({ poolMode, hasDirectUrl }: QualifiedCluster): boolean {
  return poolMode !== "transaction" || hasDirectUrl;
}
