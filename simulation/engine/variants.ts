import type { QueueOptions } from "../../src/index.js";

/** The kinds of queue that seeds choose from. Each has a schema of its own on the simulation's server. */
export interface Variant {
  readonly name: string;
  readonly options: QueueOptions & { readonly order: "key" | "none"; readonly maxCrashes: number };
}

const buckets = 12;
const dayMs = 86_400_000;

export const variants: readonly Variant[] = [
  { name: "key", options: { order: "key", buckets, maxCrashes: 3, retentionMs: dayMs } },
  {
    name: "park",
    options: { order: "key", buckets, onDeadLetter: "park", maxCrashes: 2, retentionMs: dayMs },
  },
  { name: "strict", options: { order: "key", buckets, strict: true, maxCrashes: 4, retentionMs: 0 } },
  { name: "none", options: { order: "none", buckets, maxCrashes: 3, retentionMs: dayMs } },
  {
    name: "consistent",
    options: { order: "key", buckets, ring: "consistent", maxCrashes: 2, retentionMs: 0 },
  },
  { name: "bare", options: { order: "none", buckets, maxCrashes: 4, retentionMs: 0 } },
];

export const queueName = "inbox";

export function schemaOf(variant: Variant): string {
  return `sim_${variant.name}`;
}
