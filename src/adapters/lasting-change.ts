import type pg from "pg";

/** Commands that change the session itself: settings, its role, its prepared statements. */
const changing: ReadonlySet<string> = new Set(["SET", "RESET", "DISCARD", "DEALLOCATE"]);

const sessionSet = /\bset\s+(?!\s|local\b|transaction\b|constraints\b)/i;
const literal = /'[^']*'/g;
const anyCall = /\bset_config\s*\(/gi;
const localCall = /\bset_config\s*\([^()]*,\s*(?:true|'t(?:rue)?')\s*\)/gi;

/**
 * True when a statement of a user may have changed what outlives its transaction, so that the connection is not fit for others any more. SET LOCAL, and set_config() with a
 * literal true, end with the transaction. A change inside of a function or a DO block is not seen here.
 */
export function isLastingChange(text: string, result: unknown): boolean {
  const results = (Array.isArray(result) ? result : [result]) as readonly (pg.QueryResult | undefined)[];
  for (const one of results) {
    const command = one?.command ?? "";
    if (changing.has(command) && (command !== "SET" || sessionSet.test(text.replace(literal, ""))))
      return true;
  }
  return countOf(text, anyCall) > countOf(text, localCall);
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
