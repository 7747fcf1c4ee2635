import { FaultsOf } from "../../checkers/faults-of.js";
import type { EntryOf } from "../../entries.js";
import type { Violation } from "../../history.js";
import type { TenantNote } from "../entries.js";
import type { TenantChecker } from "../history.js";

/** The server has lost the session, and nobody has told the process. */
const unnoticed = "session, unnoticed";
const asleep = "session, while frozen";
/** It is told, unless it is frozen: then it may be after its first look. */
const told: ReadonlySet<string> = new Set(["session", "server restarts"]);

/**
 * Nobody acts for a tenant that somebody else has started since, under a higher token. However slow, frozen or cut off its process is: the lease has ended by its own clock
 * before. An excuse, for as long as a TTL, is only a session that broke for the server alone, or while the process was frozen.
 */
export const noStaleAct: TenantChecker = ({ entries, settings }) => {
  const faults = new FaultsOf();
  /** Whether the session of each has broken meanwhile. */
  const frozen = new Map<string, boolean>();
  const highest = new Map<string, TenantNote>();
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is === "fault") onFault(entry, faults, frozen);
    if (entry.is !== "tenant") continue;
    const { process, tenant, token, atMs } = entry;
    const owner = highest.get(tenant);
    if (entry.what === "began" && (owner === undefined || token > owner.token)) highest.set(tenant, entry);
    if (entry.what !== "acted" || owner === undefined || owner.process === process || owner.token < token)
      continue;
    if (faults.wasHitSince(process, atMs - settings.ttlMs)) continue;
    const message = `Tenant ${tenant} acted on ${process} under token ${token} at ${Math.round(atMs)} ms, though ${owner.process} had started it under ${owner.token} at ${Math.round(owner.atMs)} ms.`;
    violations.push({ checker: "no stale act", message, about: [tenant, process, owner.process], atMs });
  }
  return violations;
};

/** What happens to the session of a process that is frozen goes unnoticed until it thaws. */
function onFault(entry: EntryOf<"fault">, faults: FaultsOf, frozen: Map<string, boolean>): void {
  const { process, what, state } = entry;
  if (what === unnoticed) faults.apply(entry);
  if (what === "frozen" && state === "hit") frozen.set(process, frozen.get(process) ?? false);
  else if (what === "frozen") {
    if (frozen.get(process) === true) faults.apply({ ...entry, what: asleep });
    frozen.delete(process);
  } else if (told.has(what) && state === "hit")
    for (const one of frozen.keys())
      if (process === one || process === "*") {
        frozen.set(one, true);
        faults.apply({ ...entry, process: one, what: asleep });
      }
}
