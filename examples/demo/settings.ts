import type { QueueOptions } from "../../src/index.js";

export const queueName = "orders";

export const queueOptions: QueueOptions = Object.freeze({
  order: "key",
  retentionMs: 24 * 3_600_000,
  dedupeWindowMs: 3_600_000,
});

/** The demo has a schema of Leasehold to itself: nothing of yours is touched, also in the database of DATABASE_URL. */
export const leaseholdSchema = "leasehold_demo";

/** Shorter than usual, so that a demo that was cut off does not hold up the next one for long. */
export const heartbeatMs = 2_000;
