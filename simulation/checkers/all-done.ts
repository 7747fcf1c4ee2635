import type { Checker, Violation } from "../history.js";
import { isInLine, LineState } from "./line-state.js";

/** At the end, when everybody has been well for long enough, nothing is left to do but what a parked dead letter holds up. */
export const allDone: Checker = ({ entries, settings }) => {
  const line = new LineState();
  for (const entry of entries) if (entry.is === "moved") line.apply(entry);
  const parked = new Map<string, bigint>();
  if (settings.onDeadLetter === "park") {
    for (const { key, seq, state } of line.all()) {
      const first = parked.get(key);
      if (state.status === "dead_letter" && isInLine(state) && (first === undefined || seq < first))
        parked.set(key, seq);
    }
  }
  const violations: Violation[] = [];
  for (const { id, key, seq, state } of line.all()) {
    const held = parked.get(key);
    if (state.status === "dead_letter" || (held !== undefined && held < seq)) continue;
    const message = `Job ${id} of ${key} (#${seq}) is still ${state.status}, attempt ${state.attempts}.`;
    violations.push({ checker: "all done", message, about: [id, key] });
  }
  return violations;
};
