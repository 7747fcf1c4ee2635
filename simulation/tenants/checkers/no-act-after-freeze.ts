import type { EntryOf } from "../../entries.js";
import type { Violation } from "../../history.js";
import type { TenantChecker } from "../history.js";

/** After a freeze that was longer than its TTL, no run of a process acts that began before it: the first look at its signal tells the truth. */
export const noActAfterFreeze: TenantChecker = ({ entries, settings }) => {
  const frozenAtMs = new Map<string, number>();
  /** When the last long freeze of a process began. */
  const longAtMs = new Map<string, number>();
  const beganAtMs = new Map<string, number>();
  const violations: Violation[] = [];
  const onFault = ({ process, what, state, atMs }: EntryOf<"fault">): void => {
    if (what !== "frozen") return;
    const sinceMs = frozenAtMs.get(process);
    if (state === "hit") frozenAtMs.set(process, sinceMs ?? atMs);
    else {
      frozenAtMs.delete(process);
      if (sinceMs !== undefined && atMs - sinceMs > settings.ttlMs) longAtMs.set(process, sinceMs);
    }
  };
  for (const entry of entries) {
    if (entry.is === "fault") onFault(entry);
    if (entry.is !== "tenant") continue;
    const { process, tenant, token, atMs } = entry;
    const run = `${process} ${tenant} ${token}`;
    if (entry.what === "began") beganAtMs.set(run, beganAtMs.get(run) ?? atMs);
    const frozenMs = longAtMs.get(process) ?? Number.NEGATIVE_INFINITY;
    if (entry.what !== "acted" || (beganAtMs.get(run) ?? atMs) > frozenMs) continue;
    const message = `Tenant ${tenant} acted on ${process} under token ${token} at ${Math.round(atMs)} ms, though its process had been frozen from ${Math.round(frozenMs)} ms for longer than its TTL.`;
    violations.push({ checker: "no act after a freeze", message, about: [tenant, process], atMs });
  }
  return violations;
};
