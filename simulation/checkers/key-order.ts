import type { Handled, Move } from "../entries.js";
import type { Checker, HistorySettings, Violation } from "../history.js";
import { isClaim, isInLine, LineState, type Standing } from "./line-state.js";

/**
 * Along a key handlers start in order: none while a row before it, that was in line when its own was claimed, is still unfinished. A start under a token that has
 * been taken over meanwhile is not looked at here: its writes are refused, which other checkers see to. A row that committed below others may be passed over by as many claims of its key as the
 * settings allow.
 */
export const keyOrder: Checker = ({ entries, settings }) => {
  if (settings.order !== "key") return [];
  const line = new LineState();
  const late = new LateRows(settings);
  /** Of each row in process, the rows that were before it when it was claimed. */
  const before = new Map<string, ReadonlySet<string>>();
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is === "moved") {
      line.apply(entry);
      late.note(entry);
      if (isClaim(entry)) before.set(entry.id, earlierThan(line, late, entry));
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

/** Rows that came into line below one that was there before, until they are claimed themselves. */
class LateRows {
  readonly #settings: HistorySettings;
  readonly #highest = new Map<string, bigint>();
  readonly #rows = new Map<string, { readonly sinceMs: number; readonly passedBy: Set<bigint> }>();

  constructor(settings: HistorySettings) {
    this.#settings = settings;
  }

  note(move: Move): void {
    const { id, key, seq, atMs, from } = move;
    const highest = this.#highest.get(key) ?? -1n;
    if (from === null && seq < highest) this.#rows.set(id, { sinceMs: atMs, passedBy: new Set() });
    if (seq > highest) this.#highest.set(key, seq);
    if (isClaim(move)) this.#rows.delete(id);
  }

  /** True when this claim may pass over the row: it may have begun before the row was there, or is one of those that need not see it yet. */
  isExcused(row: Standing, claim: Move): boolean {
    const late = this.#rows.get(row.id);
    if (late === undefined || this.#settings.lateClaimsMax === 0) return false;
    if (claim.atMs - late.sinceMs <= this.#settings.raceMs) return true;
    late.passedBy.add(claim.to?.token ?? 0n);
    return late.passedBy.size <= this.#settings.lateClaimsMax;
  }
}

function earlierThan(line: LineState, late: LateRows, claim: Move): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const other of line.ofKey(claim.key))
    if (other.seq < claim.seq && isInLine(other.state) && !late.isExcused(other, claim)) ids.add(other.id);
  return ids;
}

function isHeld(line: LineState, { id, token }: Handled): boolean {
  const state = line.row(id)?.state;
  return state?.status === "processing" && state.token === token;
}
