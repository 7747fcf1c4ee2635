import type { Checker } from "../history.js";
import { isClaim } from "./line-state.js";

/** The clocks of the database and of whoever wrote down the times, and their rounding. */
const toleranceMs = 5;

/** Nothing is claimed before its time: not what is for later, and not what waits for its next attempt. */
export const inTime: Checker = ({ entries }) =>
  entries.flatMap((entry) => {
    if (entry.is !== "moved" || entry.from === null || !isClaim(entry)) return [];
    const { id, key, by, atMs, from } = entry;
    if (from.availableAtMs <= atMs + toleranceMs) return [];
    const message = `Row ${id} of ${key} was claimed by ${by} ${Math.round(from.availableAtMs - atMs)} ms before its time.`;
    return [{ checker: "in time", message, about: [id, key, by] }];
  });
