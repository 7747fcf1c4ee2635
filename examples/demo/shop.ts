/** What the demo is about: a shop whose orders lead to receipts, refunds and follow-ups. */

/** How a job will go; the producer draws it, so that the handlers have something to struggle with. */
export type Luck = "well" | "slow" | "flaky" | "poison";

export interface Work {
  readonly order: number;
  /** Rises along every partition key, in the order in which the jobs were enqueued. */
  readonly step: number;
  readonly luck: Luck;
  /** How long the outside world takes over it. */
  readonly takesMs: number;
}

export interface ShopJobs {
  "receipt.send": Work;
  "refund.pay": Work;
  "follow-up.send": Work;
}

/** The key of the one customer that orders far more than all others: one key, one stream, one job at a time. */
export const hotKey = "tenant:acme";
