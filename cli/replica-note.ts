import { setTimeout as sleep } from "node:timers/promises";
import type { Leasehold } from "../src/index.js";
import { span } from "./figures.js";

const limitMs = 1_000;

/** What a person has to know of answers that may be those of a replica; null where none is configured. */
export async function replicaNote(lh: Leasehold): Promise<string | null> {
  const over = new AbortController();
  const late = sleep(limitMs, undefined, { signal: over.signal }).catch(() => undefined);
  const status = await Promise.race([lh.replica(), late]).finally(() => over.abort());
  if (status === null) return null;
  if (status === undefined) return `The replica did not say within ${span(limitMs)} how far it is behind.`;
  const { isUsed, behindMs, reason } = status;
  if (!isUsed) return `The replica is not used, the primary answers: ${reason}`;
  if (behindMs === null) return "The replica answers; how far it is behind is not known.";
  if (behindMs === 0) return "The replica answers; it is not behind.";
  return `The replica answers; it is ${span(behindMs)} behind.`;
}
