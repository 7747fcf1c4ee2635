import type { Handled } from "../entries.js";
import type { Checker, Violation } from "../history.js";
import { FaultsOf } from "./faults-of.js";
import { isClaim, LineState } from "./line-state.js";

interface Scene {
  readonly line: LineState;
  readonly faults: FaultsOf;
  /** By row and token, when it was claimed. */
  readonly claimedAtMs: Map<string, number>;
}

/**
 * No two handlers of one key at the same time. One whose row was taken over does not count, if something had happened to its process since it claimed the row: a frozen process can't
 * know, and what it writes is refused. In a queue without order each row stands for itself.
 */
export const noOverlap: Checker = ({ entries, settings }) => {
  const scene: Scene = { line: new LineState(), faults: new FaultsOf(), claimedAtMs: new Map() };
  const running = new Map<string, Map<string, Handled>>();
  const violations: Violation[] = [];
  const listOf = ({ key, id }: { readonly key: string; readonly id: string }): Map<string, Handled> => {
    const name = settings.order === "key" ? key : id;
    const list = running.get(name) ?? new Map<string, Handled>();
    running.set(name, list);
    return list;
  };
  for (const entry of entries) {
    if (entry.is === "moved") {
      scene.line.apply(entry);
      if (entry.to !== null && isClaim(entry))
        scene.claimedAtMs.set(`${entry.id} ${entry.to.token}`, entry.atMs);
      // Completed by its own handler's transaction: it is over, though the handler has not heard of it.
      if (entry.to === null) listOf(entry).delete(`${entry.id} ${entry.from?.token}`);
    } else if (entry.is === "fault") {
      scene.faults.apply(entry);
      if (entry.state === "gone") for (const list of running.values()) forget(list, entry.process);
    } else if (entry.is === "ended") listOf(entry).delete(`${entry.id} ${entry.token}`);
    else if (entry.is === "started") {
      const list = listOf(entry);
      for (const other of isExcused(scene, entry) ? [] : list.values()) {
        if (isExcused(scene, other)) continue;
        const message = `Job ${entry.id} of ${entry.key} started on ${entry.process} under token ${entry.token} while ${other.id} ran on ${other.process} under ${other.token}.`;
        const about = [entry.id, other.id, entry.key, entry.process, other.process];
        violations.push({ checker: "no overlap", message, about });
      }
      list.set(`${entry.id} ${entry.token}`, entry);
    }
  }
  return violations;
};

function forget(list: Map<string, Handled>, process: string): void {
  for (const [attempt, handled] of list) if (handled.process === process) list.delete(attempt);
}

/** Its row is somebody else's, and it can't know. */
function isExcused({ line, faults, claimedAtMs }: Scene, { id, token, process, atMs }: Handled): boolean {
  const state = line.row(id)?.state;
  if (state?.status === "processing" && state.token === token) return false;
  return faults.wasHitSince(process, claimedAtMs.get(`${id} ${token}`) ?? atMs);
}
