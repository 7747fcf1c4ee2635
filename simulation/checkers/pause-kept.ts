import type { Checker, Violation } from "../history.js";
import { isClaim } from "./line-state.js";

/** Nothing is claimed from a queue that is paused. */
export const pauseKept: Checker = ({ entries }) => {
  let pausedAtMs: number | null = null;
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is === "paused") pausedAtMs = entry.isPaused ? entry.atMs : null;
    if (pausedAtMs === null || entry.is !== "moved" || !isClaim(entry)) continue;
    const message = `Row ${entry.id} of ${entry.key} was claimed by ${entry.by}, though the queue had been paused at ${Math.round(pausedAtMs)} ms.`;
    violations.push({ checker: "pause kept", message, about: [entry.id, entry.key, entry.by] });
  }
  return violations;
};
