import type { Violation } from "../../history.js";
import type { TenantNote } from "../entries.js";
import type { TenantChecker, TenantHistory } from "../history.js";
import { OpenRuns } from "./open-runs.js";
import { Quiet } from "./quiet.js";

const telling: ReadonlySet<TenantNote["what"]> = new Set(["began", "stopped", "ended"]);

interface Watch {
  readonly quiet: Quiet;
  /** From start() until its supervisor gave it up; a start that throws is still in its hands. */
  readonly runs: OpenRuns;
  /** Given up by its supervisor, and going on all the same: nothing else may run for it on that process, which may be the one that is to have it. */
  readonly stuck: OpenRuns;
  /** Since when each tenant has not been in the hands of anybody who could run it. */
  readonly waitsSinceMs: Map<string, number>;
  readonly violations: Violation[];
}

/** A tenant that nobody runs is started within the time promised, counted from when it was given up, and from the last thing that happened to the fleet. */
export const ownedAgain: TenantChecker = (history) => {
  const watch: Watch = {
    quiet: new Quiet(history.settings),
    runs: new OpenRuns(),
    stuck: new OpenRuns(),
    waitsSinceMs: new Map(history.settings.tenants.map((tenant) => [tenant, 0])),
    violations: [],
  };
  for (const entry of history.entries) {
    if (entry.is === "tenant") {
      if (telling.has(entry.what)) onNote(history, watch, entry);
    } else if (entry.is === "fault" || entry.is === "joined") {
      for (const tenant of history.settings.tenants) look(watch, tenant, entry.atMs);
      watch.quiet.apply(entry);
      if (entry.is === "fault" && entry.state === "gone")
        for (const runs of [watch.runs, watch.stuck]) runs.endAllOf(entry);
      for (const tenant of history.settings.tenants) note(watch, tenant, entry.atMs);
    }
  }
  return watch.violations;
};

function onNote({ settings }: TenantHistory, watch: Watch, entry: TenantNote): void {
  if (!settings.tenants.includes(entry.tenant)) return;
  look(watch, entry.tenant, entry.atMs);
  if (entry.what === "began") watch.runs.begin(entry);
  else if (entry.what === "ended") watch.stuck.end(entry);
  else watch.runs.end(entry);
  if (entry.isStuck) watch.stuck.begin(entry);
  note(watch, entry.tenant, entry.atMs);
}

/** Whether it has waited for too long by now. Each wait is told once. */
function look({ quiet, waitsSinceMs, violations }: Watch, tenant: string, nowMs: number): void {
  const waitsMs = waitsSinceMs.get(tenant);
  const quietMs = quiet.sinceMs;
  if (waitsMs === undefined || quietMs === null) return;
  const sinceMs = Math.max(waitsMs, quietMs);
  const limitMs = quiet.limitMs(sinceMs);
  if (nowMs - sinceMs <= limitMs) return;
  const message = `Tenant ${tenant} was run by nobody from ${Math.round(waitsMs)} ms until ${Math.round(nowMs)} ms; nothing happened since ${Math.round(quietMs)} ms, and ${Math.round(limitMs)} ms are promised.`;
  violations.push({ checker: "owned again", message, about: [tenant], atMs: nowMs });
  waitsSinceMs.set(tenant, Number.POSITIVE_INFINITY);
}

function note({ quiet, runs, stuck, waitsSinceMs }: Watch, tenant: string, nowMs: number): void {
  const isRun = runs.of(tenant).some(({ process }) => !quiet.isHelpless(process));
  if (isRun || stuck.of(tenant).length > 0) waitsSinceMs.delete(tenant);
  else if (!waitsSinceMs.has(tenant)) waitsSinceMs.set(tenant, nowMs);
}
