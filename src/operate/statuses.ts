import type { JobStatus } from "../work/job.js";

/** Every status that a filter may ask for. */
export const statuses: readonly JobStatus[] = Object.freeze([
  "scheduled",
  "pending",
  "processing",
  "dead_letter",
  "completed",
  "discarded",
]);
