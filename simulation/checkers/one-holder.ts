import type { Move } from "../entries.js";
import type { Checker, Violation } from "../history.js";
import { FaultsOf } from "./faults-of.js";
import { isClaim } from "./line-state.js";

interface Hold {
  readonly process: string;
  readonly token: bigint;
  readonly sinceMs: number;
}

/**
 * A row in process is changed by its holder alone, until its lease has run out or its holder was marked dead; and nobody's rows are taken who was well all the time.
 * Settles that come late, from a process that holds the row no more, change nothing.
 */
export const oneHolder: Checker = ({ entries, settings }) => {
  const holds = new Map<string, Hold>();
  /** Until when each worker that was marked dead is, or was. */
  const dead = new Map<string, number>();
  const faults = new FaultsOf();
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (entry.is === "fault") faults.apply(entry);
    else if (entry.is === "registered") {
      const wasDead = dead.get(entry.worker) === Number.POSITIVE_INFINITY;
      if (entry.status === "dead") dead.set(entry.worker, Number.POSITIVE_INFINITY);
      else if (wasDead) dead.set(entry.worker, entry.atMs + settings.raceMs);
    } else if (entry.is === "moved") {
      const hold = holds.get(entry.id);
      const wrong = hold === undefined ? null : wrongWith(entry, hold, { dead, faults });
      if (wrong !== null) {
        const message = `Row ${entry.id} of ${entry.key}, held by ${hold?.process} under token ${hold?.token}, was changed by ${entry.by}: ${wrong}.`;
        violations.push({
          checker: "one holder",
          message,
          about: [entry.id, entry.key, entry.by, hold?.process ?? ""],
        });
      }
      note(entry, holds);
    }
  }
  return violations;
};

function wrongWith(
  { from, to, by, atMs }: Move,
  hold: Hold,
  known: { readonly dead: ReadonlyMap<string, number>; readonly faults: FaultsOf },
): string | null {
  if (from?.status !== "processing" || by === hold.process) return null;
  if (to === null) return "only its holder may complete it";
  if (to.status === "processing") return "it was claimed while it was held, or renewed by somebody else";
  const isExpired = from.leaseExpiresAtMs !== null && from.leaseExpiresAtMs <= atMs;
  const isDead = (known.dead.get(from.worker ?? "") ?? Number.NEGATIVE_INFINITY) > atMs;
  // Another process of the same id takes over what its predecessor left.
  const isHeir = by.split("#")[0] === hold.process.split("#")[0];
  if (!isExpired && !isDead && !isHeir) return "its lease has not run out and its holder is not marked dead";
  if (!known.faults.wasHitSince(hold.process, hold.sinceMs)) return "its holder was well all the time";
  return null;
}

function note(move: Move, holds: Map<string, Hold>): void {
  if (move.to?.status !== "processing") holds.delete(move.id);
  else if (isClaim(move)) holds.set(move.id, { process: move.by, token: move.to.token, sinceMs: move.atMs });
}
