import type { Violation } from "../../history.js";
import type { TenantNote } from "../entries.js";
import type { TenantChecker } from "../history.js";

/** Whoever starts a tenant later has a higher token than everybody who started it before on another process. */
export const risingTokens: TenantChecker = ({ entries }) => {
  const highest = new Map<string, TenantNote>();
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is !== "tenant" || entry.what !== "began") continue;
    const before = highest.get(entry.tenant);
    const isHigher = before === undefined || entry.token > before.token;
    // A start that threw is called again under its token.
    const isAgain = before?.process === entry.process && before.token === entry.token;
    if (isHigher) highest.set(entry.tenant, entry);
    if (isHigher || isAgain) continue;
    const message = `Tenant ${entry.tenant} was started on ${entry.process} under token ${entry.token} at ${Math.round(entry.atMs)} ms, after token ${before.token} of ${before.process}.`;
    violations.push({
      checker: "rising tokens",
      message,
      about: [entry.tenant, entry.process, before.process],
      atMs: entry.atMs,
    });
  }
  return violations;
};
