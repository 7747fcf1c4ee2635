import type { Checker, Violation } from "../history.js";

/** Who waits for an enqueue before sending the next of the same key has them in that order. */
export const enqueueOrder: Checker = ({ entries, settings }) => {
  if (settings.order !== "key") return [];
  const seqs = new Map<string, bigint>();
  for (const entry of entries) if (entry.is === "moved" && entry.from === null) seqs.set(entry.id, entry.seq);
  /** Of each key, the highest place that was acknowledged; of each job, that place when it was sent. */
  const highest = new Map<string, bigint>();
  const floor = new Map<string, bigint>();
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is === "sent") floor.set(entry.id, highest.get(entry.key) ?? -1n);
    if (entry.is !== "acknowledged") continue;
    const seq = seqs.get(entry.id);
    if (seq === undefined) continue; // A job that is not there at all is another checker's.
    const after = floor.get(entry.id) ?? -1n;
    if (seq <= after) {
      const message = `Job ${entry.id} of ${entry.key} is #${seq}, and was sent after #${after} had been acknowledged.`;
      violations.push({ checker: "order of enqueues", message, about: [entry.id, entry.key] });
    }
    if (seq > (highest.get(entry.key) ?? -1n)) highest.set(entry.key, seq);
  }
  return violations;
};
