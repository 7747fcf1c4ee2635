import type { Entry } from "../entries.js";
import type { Checker, HistorySettings, Violation } from "../history.js";
import { FaultsOf } from "./faults-of.js";
import { isInLine, LineState, type Standing } from "./line-state.js";

/** What is known of the fleet: who works, on how much, and since when nothing has been wrong while there was nothing to do. */
class Quiet {
  readonly #faults = new FaultsOf();
  readonly #owners = new Set<string>();
  readonly #running = new Map<string, Set<string>>();
  #isPaused = false;
  sinceMs: number | null = null;

  apply(entry: Entry): void {
    if (entry.is === "fault") {
      this.#faults.apply(entry);
      if (entry.state === "gone") {
        this.#owners.delete(entry.process);
        this.#running.delete(entry.process);
      }
    } else if (entry.is === "owned") this.#owners.add(entry.process);
    else if (entry.is === "paused") this.#isPaused = entry.isPaused;
    else if (entry.is === "started") this.#handlers(entry.process).add(`${entry.id} ${entry.token}`);
    else if (entry.is === "ended") this.#handlers(entry.process).delete(`${entry.id} ${entry.token}`);
    else return;
    const isBusy = [...this.#running.values()].some((handlers) => handlers.size > 0);
    const isQuiet = this.#owners.size > 0 && !isBusy && !this.#isPaused && this.#faults.isEverybodyWell;
    this.sinceMs = isQuiet ? (this.sinceMs ?? entry.atMs) : null;
  }

  #handlers(process: string): Set<string> {
    const handlers = this.#running.get(process) ?? new Set<string>();
    this.#running.set(process, handlers);
    return handlers;
  }
}

/** While everybody is well and has nothing to do, no row that could be claimed waits for longer than it takes until its bucket has an owner. */
export const nobodyForgotten: Checker = ({ entries, settings }) => {
  const line = new LineState();
  const quiet = new Quiet();
  const movedAtMs = new Map<string, number>();
  const told = new Set<string>();
  const violations: Violation[] = [];
  for (const entry of entries) {
    const { sinceMs } = quiet;
    if (sinceMs !== null && entry.atMs - sinceMs > settings.ownedWithinMs) {
      for (const row of line.all()) {
        const readyMs = Math.max(sinceMs, movedAtMs.get(row.key) ?? 0, row.state.availableAtMs);
        if (entry.atMs - readyMs <= settings.ownedWithinMs || told.has(row.id)) continue;
        if (!isReady(line, row, settings)) continue;
        told.add(row.id);
        const message = `Job ${row.id} of ${row.key} (#${row.seq}) could be claimed since ${Math.round(readyMs)} ms, and at ${Math.round(entry.atMs)} ms nobody had done it.`;
        violations.push({ checker: "nobody forgotten", message, about: [row.id, row.key] });
      }
    }
    quiet.apply(entry);
    if (entry.is !== "moved") continue;
    line.apply(entry);
    movedAtMs.set(entry.key, entry.atMs);
  }
  return violations;
};

function isReady(line: LineState, row: Standing, { order }: HistorySettings): boolean {
  const { status, isFinished } = row.state;
  if (status === "scheduled" && !isFinished) return true; // A claim gives it its place in line.
  if (status !== "pending") return false;
  if (order === "none") return true;
  // A row that committed late waits for a later one of its key that is in process already.
  for (const other of line.ofKey(row.key))
    if (other.state.status === "processing" || (other.seq < row.seq && isInLine(other.state))) return false;
  return true;
}
