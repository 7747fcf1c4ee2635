import type { EntryOf } from "../entries.js";
import type { Checker, Violation } from "../history.js";

/** What left the queue is in the archive once, as it was when it left; in a queue that keeps none, nothing is. */
export const archiveComplete: Checker = ({ entries, settings }) => {
  const archived = new Map<string, EntryOf<"archived">[]>();
  for (const entry of entries)
    if (entry.is === "archived") archived.set(entry.id, [...(archived.get(entry.id) ?? []), entry]);
  const violations: Violation[] = [];
  const complain = (id: string, message: string): void =>
    void violations.push({ checker: "archive complete", message, about: [id] });
  const left = new Set<string>();
  for (const entry of entries) {
    if (entry.is !== "moved" || entry.to !== null) continue;
    const { id, from } = entry;
    left.add(id);
    const [kept] = archived.get(id) ?? [];
    if (kept === undefined) {
      if (settings.keepsArchive) complain(id, `Row ${id} left the queue and is not in the archive.`);
    } else if (kept.token !== from?.token || kept.attempts !== from.attempts)
      complain(
        id,
        `Row ${id} left with token ${from?.token}, attempt ${from?.attempts}; the archive has ${kept.token}, ${kept.attempts}.`,
      );
  }
  for (const [id, list] of archived) {
    if (!settings.keepsArchive) complain(id, `Row ${id} is in the archive of a queue that keeps none.`);
    if (list.length > 1) complain(id, `Row ${id} is in the archive ${list.length} times.`);
    if (!left.has(id)) complain(id, `Row ${id} is in the archive and has not left the queue.`);
  }
  return violations;
};
