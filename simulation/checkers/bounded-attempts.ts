import type { Handled, Move } from "../entries.js";
import type { Checker, Violation } from "../history.js";
import { isClaim } from "./line-state.js";

/**
 * Attempts are what they say: no row has more errors or crashes than it may have, a dead letter that nobody asked for has used up its crashes, each start of a handler has a
 * claim of its own, each completion a start, and an attempt that was started is not taken back by anybody but its holder.
 */
export const boundedAttempts: Checker = ({ entries, settings: { maxCrashes } }) => {
  const book: Book = { maxCrashes, holders: new Map(), starts: new Set() };
  const violations: Violation[] = [];
  const complain = (about: readonly string[], message: string): void =>
    void violations.push({ checker: "bounded attempts", message, about });
  for (const entry of entries) {
    if (entry.is === "moved") {
      const wrong = wrongWith(entry, book);
      if (wrong !== null) complain([entry.id, entry.key], `Row ${entry.id}, moved by ${entry.by}: ${wrong}.`);
      if (entry.to !== null && isClaim(entry)) book.holders.set(`${entry.id} ${entry.to.token}`, entry.by);
    } else if (entry.is === "started") {
      const { id, key, token, process } = entry;
      const wrong = wrongStart(entry, book);
      book.starts.add(`${id} ${token}`);
      if (wrong !== null)
        complain([id, key, process], `Job ${id} was started under token ${token} on ${process} ${wrong}.`);
    }
  }
  return violations;
};

interface Book {
  readonly maxCrashes: number;
  /** By row and token: who claimed it. */
  readonly holders: Map<string, string>;
  readonly starts: Set<string>;
}

function wrongStart({ id, token }: Pick<Handled, "id" | "token">, { holders, starts }: Book): string | null {
  if (!holders.has(`${id} ${token}`)) return "without a claim under that token";
  return starts.has(`${id} ${token}`) ? "for the second time" : null;
}

function wrongWith({ id, by, from, to }: Move, { maxCrashes, holders, starts }: Book): string | null {
  if (to !== null && to.attempts - to.crashes > to.maxAttempts)
    return `it is at attempt ${to.attempts} after ${to.crashes} crashes, and may have ${to.maxAttempts} errors`;
  if (to !== null && to.status !== "dead_letter" && to.crashes >= maxCrashes)
    return `it lives after ${to.crashes} crashes of ${maxCrashes}`;
  if (from?.status !== "processing") return null;
  const attempt = `${id} ${from.token}`;
  if (to === null)
    return starts.has(attempt) ? null : `it was completed under token ${from.token} and never started`;
  const isForeign = holders.get(attempt) !== by;
  if (isForeign && to.attempts < from.attempts && starts.has(attempt))
    return "an attempt that was started was taken back";
  if (isForeign && to.status === "dead_letter" && from.crashes + 1 < maxCrashes)
    return `it died of crash ${from.crashes + 1} of ${maxCrashes}, and its holder had not said so`;
  return null;
}
