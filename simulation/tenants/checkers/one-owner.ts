import { FaultsOf } from "../../checkers/faults-of.js";
import type { Violation } from "../../history.js";
import type { TenantNote } from "../entries.js";
import { isHarmless, type TenantChecker } from "../history.js";
import { OpenRuns } from "./open-runs.js";

/**
 * No two runs of a tenant at a time. Excused is a run under the lower token whose process something had happened to within its TTL (it was frozen, cut off, its session
 * broke: it could not know), and one that is stuck. To be evicted is no excuse, and neither is another run on the same process.
 */
export const oneOwner: TenantChecker = ({ entries, settings }) => {
  const faults = new FaultsOf();
  const runs = new OpenRuns();
  const violations: Violation[] = [];
  const isExcused = (older: TenantNote, newer: TenantNote, nowMs: number): boolean =>
    older.process !== newer.process && faults.wasHitSince(older.process, nowMs - settings.ttlMs);
  for (const entry of entries) {
    if (entry.is === "fault") {
      if (!isHarmless(entry)) faults.apply(entry);
      if (entry.state === "gone") runs.endAllOf(entry);
    } else if (entry.is === "tenant") {
      const isOver = entry.what === "failed" || entry.what === "ended" || entry.isStuck;
      if (isOver) runs.end(entry);
      if (entry.what !== "began") continue;
      runs.begin(entry);
      for (const other of runs.of(entry.tenant)) {
        if (other === entry) continue;
        const [older, newer] = other.token < entry.token ? [other, entry] : [entry, other];
        // It has lost its lease without being able to know; who starts after that has nothing to do with it.
        if (isExcused(older, newer, entry.atMs)) runs.end(older);
        else violations.push(overlap(entry, other));
      }
    }
  }
  return violations;
};

function overlap(entry: TenantNote, other: TenantNote): Violation {
  const { tenant, process, token, atMs } = entry;
  const message = `Tenant ${tenant} was started on ${process} under token ${token} at ${Math.round(atMs)} ms while it ran on ${other.process} under ${other.token}.`;
  return { checker: "one owner", message, about: [tenant, process, other.process], atMs };
}
