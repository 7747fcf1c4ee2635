import type { Handled } from "../entries.js";
import type { Checker, Violation } from "../history.js";
import { isClaim, isInLine, LineState } from "./line-state.js";

/**
 * Along a key handlers start in order: none while a row before it, that was in line when its own was claimed, is still unfinished. A start under a token that has
 * been taken over meanwhile is not looked at here: its writes are refused, which other checkers see to.
 */
export const keyOrder: Checker = ({ entries, settings }) => {
  if (settings.order !== "key") return [];
  const line = new LineState();
  /** Of each row in process, the rows that were before it when it was claimed. */
  const before = new Map<string, ReadonlySet<string>>();
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is === "moved") {
      line.apply(entry);
      if (isClaim(entry)) before.set(entry.id, earlierThan(line, entry.id));
    } else if (entry.is === "started" && isHeld(line, entry)) {
      for (const id of before.get(entry.id) ?? []) {
        const row = line.row(id);
        const mine = line.row(entry.id)?.seq ?? 0n;
        // One that was redriven meanwhile stands behind.
        if (row === undefined || !isInLine(row.state) || row.seq > mine) continue;
        const message = `Job ${entry.id} of ${entry.key} (#${line.row(entry.id)?.seq}) started on ${entry.process} before #${row.seq} (${id}, ${row.state.status}) was done.`;
        violations.push({
          checker: "order per key",
          message,
          about: [entry.id, id, entry.key, entry.process],
        });
      }
    }
  }
  return violations;
};

function earlierThan(line: LineState, id: string): ReadonlySet<string> {
  const row = line.row(id);
  const ids = new Set<string>();
  if (row === undefined) return ids;
  for (const other of line.ofKey(row.key))
    if (other.seq < row.seq && isInLine(other.state)) ids.add(other.id);
  return ids;
}

function isHeld(line: LineState, { id, token }: Handled): boolean {
  const state = line.row(id)?.state;
  return state?.status === "processing" && state.token === token;
}
