import type { Checker, Violation } from "../history.js";

const windowMs = 1_000;
/** A wake, an ended handler and a refused row are each a reason to look, so it is more than polling comes to. */
const looksMax = 100;

/** Nobody asks for rows over and over while there is nothing to be had. */
export const fewVainLooks: Checker = ({ entries }) => {
  const recent = new Map<string, number[]>();
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is !== "looked in vain") continue;
    const { process, atMs } = entry;
    const looks = (recent.get(process) ?? []).filter((lookMs) => lookMs > atMs - windowMs);
    recent.set(process, looks);
    if (looks.push(atMs) <= looksMax) continue;
    const message = `${process} looked for rows ${looks.length} times within ${windowMs} ms and found none.`;
    violations.push({ checker: "few vain looks", message, about: [process] });
    recent.set(process, []);
  }
  return violations;
};
