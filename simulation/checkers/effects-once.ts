import type { Checker, Violation } from "../history.js";
import { LineState } from "./line-state.js";

/**
 * A write that commits with the completion of its job happens once, and only for a job that was completed under the same token. A write under a fence of
 * its key never comes after one of a higher token.
 */
export const effectsOnce: Checker = ({ entries }) => {
  const line = new LineState();
  const violations: Violation[] = [];
  const once = new Map<string, bigint>();
  const fences = new Map<string, bigint>();
  const completed = new Map<string, bigint>();
  for (const entry of entries) {
    if (entry.is === "moved") {
      line.apply(entry);
      if (entry.to === null && entry.from?.status === "processing") completed.set(entry.id, entry.from.token);
    }
    if (entry.is !== "effect") continue;
    const { id, key, token, how } = entry;
    const complain = (message: string): void =>
      void violations.push({ checker: "effects once", message, about: [id, key] });
    if (how === "once") {
      const before = once.get(id);
      if (before !== undefined)
        complain(`Job ${id} has written its effect twice, under tokens ${before} and ${token}.`);
      once.set(id, token);
    } else {
      const highest = fences.get(key);
      if (highest !== undefined && token < highest)
        complain(
          `A write of job ${id} under token ${token} came through the fence of ${key} after ${highest}.`,
        );
      fences.set(key, highest === undefined || token > highest ? token : highest);
    }
  }
  for (const [id, token] of once) {
    if (completed.get(id) === token) continue;
    const as = completed.has(id) ? `completed under token ${completed.get(id)}` : "not completed";
    violations.push({
      checker: "effects once",
      message: `Job ${id} has written its effect under token ${token}, and was ${as}.`,
      about: [id],
    });
  }
  return violations;
};
