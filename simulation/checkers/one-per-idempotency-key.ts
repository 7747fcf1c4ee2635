import type { Checker, Violation } from "../history.js";

/** An idempotency key makes one job, and whoever is answered with an earlier job is answered with one that there was. */
export const onePerIdempotencyKey: Checker = ({ entries }) => {
  const ids = new Set<string>();
  const byKey = new Map<string, string>();
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is !== "moved" || entry.from !== null) continue;
    const { id, idempotencyKey } = entry;
    ids.add(id);
    if (idempotencyKey === null) continue;
    const before = byKey.get(idempotencyKey);
    if (before !== undefined && before !== id) {
      const message = `The idempotency key ${idempotencyKey} made the jobs ${before} and ${id}.`;
      violations.push({ checker: "one per idempotency key", message, about: [before, id] });
    }
    byKey.set(idempotencyKey, id);
  }
  for (const entry of entries) {
    if (entry.is !== "duplicate" || ids.has(entry.id)) continue;
    const message = `An enqueue was answered with the job ${entry.id}, which never was.`;
    violations.push({ checker: "one per idempotency key", message, about: [entry.id] });
  }
  return violations;
};
