import type { Checker, Violation } from "../history.js";
import { isClaim } from "./line-state.js";

/** Along a key every claim has a higher token than all before it; rows of one claim share one. */
export const risingTokens: Checker = ({ entries }) => {
  const last = new Map<string, { readonly token: bigint; readonly worker: string | null }>();
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is !== "moved" || entry.to === null || !isClaim(entry)) continue;
    const { key, id, to } = entry;
    const before = last.get(key);
    const isSameClaim = before?.token === to.token && before.worker === to.worker;
    if (before !== undefined && to.token <= before.token && !isSameClaim) {
      const message = `Row ${id} of ${key} was claimed under token ${to.token} by ${to.worker}, after token ${before.token} of ${before.worker}.`;
      violations.push({ checker: "rising tokens", message, about: [id, key] });
    }
    last.set(key, { token: to.token, worker: to.worker });
  }
  return violations;
};
