import { defaults } from "../../../src/settings.js";
import type { Entry } from "../../entries.js";
import type { Violation } from "../../history.js";
import { type TenantChecker, workerOf } from "../history.js";
import { OpenRuns } from "./open-runs.js";

/** What keeps a process from doing its part for as long as it lasts. */
const lasting: ReadonlySet<string> = new Set(["frozen", "cut off", "slow", "server restarts", "bad weather"]);
/** A member has at least this much of an even share, less what whole numbers and a tenth more on others leave. */
const shareLeast = 0.8;

interface Watched {
  readonly process: string;
  readonly dueAtMs: number;
}

/**
 * A worker that joins a fleet at work has its share of the tenants within a tick and ten seconds, if nothing else happens in this time. One that was lost shortly before has not joined, but come back.
 */
export const shareAfterJoin: TenantChecker = ({ entries, settings }) => {
  const { shareMs, tenants, tickMs } = settings;
  if (shareMs === null) return [];
  const runs = new OpenRuns();
  const members = new Map<string, number>();
  const lostAtMs = new Map<string, number>();
  const open = new Set<string>();
  const violations: Violation[] = [];
  let watched: Watched | null = null;
  const hasRested = (atMs: number): boolean =>
    members.size > 0 &&
    open.size === 0 &&
    [...members.values()].every((sinceMs) => atMs - sinceMs > 4 * tickMs);
  for (const entry of entries) {
    if (watched !== null && entry.atMs >= watched.dueAtMs) {
      const { process, dueAtMs } = watched;
      const has = tenants.filter((tenant) => runs.of(tenant).some((run) => run.process === process)).length;
      const least = Math.floor((shareLeast * tenants.length) / members.size) - 1;
      const message = `${process} joined ${Math.round(shareMs)} ms before ${Math.round(dueAtMs)} ms and had ${has} tenants of ${tenants.length} among ${members.size}.`;
      if (has < least)
        violations.push({ checker: "share after join", message, about: [process], atMs: dueAtMs });
      watched = null;
    }
    if (entry.is === "tenant" && entry.what === "began") runs.begin(entry);
    if (entry.is === "tenant" && entry.what === "stopped") runs.end(entry);
    if (entry.is === "joined") {
      const { process, atMs } = entry;
      const lostMs = atMs - (lostAtMs.get(workerOf(process)) ?? Number.NEGATIVE_INFINITY);
      watched =
        hasRested(atMs) && lostMs > defaults.tenantFlapMs ? { process, dueAtMs: atMs + shareMs } : null;
      members.set(process, atMs);
    }
    if (entry.is === "fault") {
      watched = null;
      noteFault(entry, { members, lostAtMs, open });
      if (entry.state === "gone") runs.endAllOf(entry);
    }
  }
  return violations;
};

function noteFault(
  { process, what, state, atMs }: Extract<Entry, { is: "fault" }>,
  seen: {
    readonly members: Map<string, number>;
    readonly lostAtMs: Map<string, number>;
    readonly open: Set<string>;
  },
): void {
  const fault = `${process} ${what}`;
  if (state === "hit" && lasting.has(what)) seen.open.add(fault);
  else seen.open.delete(fault);
  if (state === "gone") {
    seen.members.delete(process);
    for (const one of lasting) seen.open.delete(`${process} ${one}`);
  }
  // Whatever else it was: it may have been marked dead for it.
  if (what !== "draining" && what !== "stopped") seen.lostAtMs.set(workerOf(process), atMs);
}
