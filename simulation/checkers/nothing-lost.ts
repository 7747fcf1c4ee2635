import type { Checker, Violation } from "../history.js";
import { LineState } from "./line-state.js";

/** Every acknowledged job is in the queue, or left it once, as completed or discarded; nothing leaves twice or comes back. */
export const nothingLost: Checker = ({ entries, settings }) => {
  const line = new LineState();
  const left = new Map<string, number>();
  const archived = new Set<string>();
  for (const entry of entries) {
    if (entry.is === "archived") archived.add(entry.id);
    if (entry.is !== "moved") continue;
    line.apply(entry);
    if (entry.to === null) left.set(entry.id, (left.get(entry.id) ?? 0) + 1);
  }
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is !== "acknowledged") continue;
    const times = left.get(entry.id) ?? 0;
    const isHere = line.row(entry.id) !== undefined;
    const isKept = !settings.keepsArchive || archived.has(entry.id);
    if (isHere ? times === 0 : times === 1 && isKept) continue;
    const where = isHere ? "is in the queue" : "is not in the queue";
    const kept = isKept ? "" : ", and it is not in the archive";
    violations.push({
      checker: "nothing lost",
      message: `Job ${entry.id} was acknowledged, ${where} and left it ${times} times${kept}.`,
      about: [entry.id, entry.key],
    });
  }
  return violations;
};
