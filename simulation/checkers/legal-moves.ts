import type { Move, RowState } from "../entries.js";
import type { Checker } from "../history.js";

/** From each state of a row, where it may go. "" is outside of the table. */
const legal: Readonly<Record<string, readonly string[]>> = {
  "": ["pending", "scheduled"],
  scheduled: ["pending", "scheduled", ""],
  pending: ["pending", "processing", ""],
  processing: ["processing", "pending", "scheduled", "dead_letter", ""],
  dead_letter: ["pending", ""],
};

/** Rows move along the arrows of a job's life, tokens and attempts never fall (but for a release, which takes one attempt back), and only a claim changes a token. */
export const legalMoves: Checker = ({ entries }) =>
  entries.flatMap((entry) => {
    if (entry.is !== "moved") return [];
    const wrong = wrongWith(entry);
    if (wrong === null) return [];
    const message = `Row ${entry.id} (${entry.key} #${entry.seq}) ${words(entry.from)} -> ${words(entry.to)} by ${entry.by}: ${wrong}.`;
    return [{ checker: "legal moves", message, about: [entry.id, entry.key] }];
  });

function wrongWith({ from, to }: Move): string | null {
  if (!(legal[from?.status ?? ""] ?? []).includes(to?.status ?? "")) return "there is no such way";
  if (from === null || to === null) return null;
  const isClaim = to.status === "processing" && from.status !== "processing";
  // What was lost on its way forgets its token, so that nothing of the lost attempt can fit it any more.
  const isGivenBack = from.status === "processing" && to.status !== "processing" && to.token === 0n;
  if (!isClaim && to.token !== from.token && !isGivenBack) return "the token changed without a claim";
  if (isClaim && to.token <= from.token) return "a claim under a token that is not higher";
  if (isClaim && to.attempts !== from.attempts + 1) return "a claim counts one attempt";
  if (!isClaim && to.attempts > from.attempts) return "an attempt was counted without a claim";
  // A redrive of a dead letter begins anew.
  const isRedriven = from.status === "dead_letter" && to.attempts === 0;
  if (!isClaim && to.attempts < from.attempts - 1 && !isRedriven)
    return "more than one attempt was taken back";
  if (to.status === "processing" && (to.worker === null || to.leaseExpiresAtMs === null))
    return "in process without a holder";
  if (to.status !== "processing" && to.worker !== null) return "a holder of what is not in process";
  return null;
}

function words(state: RowState | null): string {
  if (state === null) return "(none)";
  return `${state.status} token ${state.token} attempt ${state.attempts}${state.worker === null ? "" : ` of ${state.worker}`}`;
}
