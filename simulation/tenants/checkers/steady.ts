import type { Violation } from "../../history.js";
import { type TenantChecker, workerOf } from "../history.js";

/** While one worker crashes and comes back over and over, and nothing else happens, no tenant that runs on another is moved. */
export const steady: TenantChecker = ({ entries, settings }) => {
  let flapper: string | null = null;
  /** A fleet that has changed evens out within a few ticks; that is no fault of the one that flaps. */
  let restlessUntilMs = Number.NEGATIVE_INFINITY;
  const violations: Violation[] = [];
  for (const entry of entries) {
    const { atMs } = entry;
    const isOther = "process" in entry && workerOf(entry.process) !== flapper;
    if (entry.is === "fault" && entry.what === "flaps")
      flapper = entry.state === "hit" ? entry.process : null;
    else if ((entry.is === "fault" || entry.is === "joined") && isOther)
      restlessUntilMs = atMs + 3 * settings.tickMs;
    if (entry.is !== "tenant" || entry.what !== "stopped" || flapper === null || !isOther) continue;
    if (atMs < restlessUntilMs || entry.isStuck) continue;
    const message = `Tenant ${entry.tenant} was stopped on ${entry.process} at ${Math.round(atMs)} ms (${entry.reason}), while only ${flapper} crashed and came back.`;
    violations.push({ checker: "steady", message, about: [entry.tenant, entry.process, flapper], atMs });
  }
  return violations;
};
