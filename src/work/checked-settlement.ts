import { AlreadyCompletedError, InvalidOptionError } from "../errors.js";
import { checkedWorkerId } from "../membership/member-settings.js";
import { checkedId } from "../operate/job-filter.js";
import { asObject, oneOf } from "../settings.js";
import { ClaimedRow } from "./claimed-row.js";
import type { Outcome } from "./outcome.js";
import type { Settlement } from "./settlement.js";

const outcomes = ["complete", "retry", "dead_letter", "release"] as const;

/** What names a held row: a job from claim(), or its id, workerId and fenceToken. */
export function checkedHeld(given: unknown): Settlement["job"] {
  if (typeof given !== "object" || given === null)
    throw new InvalidOptionError("job", given, "a job from claim(), or its id, workerId and fenceToken");
  const { id, workerId, fenceToken } = given as Partial<Settlement["job"]>;
  if (typeof fenceToken !== "bigint" || fenceToken < 0n)
    throw new InvalidOptionError("fenceToken", fenceToken, "the fence token of the claim (a bigint)");
  if (ClaimedRow.isCompleted(given)) throw new AlreadyCompletedError(id ?? "");
  const checked = { id: checkedId("id", id), workerId: checkedWorkerId(workerId), fenceToken };
  return given instanceof ClaimedRow ? given : checked;
}

export function checkedSettlements(given: unknown): readonly Settlement[] {
  if (!Array.isArray(given))
    throw new InvalidOptionError("settlements", given, "an array of { job, outcome }");
  return Array.from(given, (one: unknown) => {
    const { job, outcome } = asObject("settlement", one as Partial<Settlement>);
    return { job: checkedHeld(job), outcome: checkedOutcome(outcome) };
  });
}

function checkedOutcome(given: unknown): Outcome {
  const outcome = asObject("outcome", given as Outcome);
  oneOf("outcome", outcome.is ?? null, outcomes, "complete");
  if ("error" in outcome && outcome.error !== undefined && typeof outcome.error !== "string")
    throw new InvalidOptionError("error", outcome.error, "text");
  if ("stack" in outcome && outcome.stack !== undefined && typeof outcome.stack !== "string")
    throw new InvalidOptionError("stack", outcome.stack, "text");
  if (outcome.is === "retry" && outcome.delayMs !== null && outcome.delayMs !== undefined)
    if (typeof outcome.delayMs !== "number")
      throw new InvalidOptionError("delayMs", outcome.delayMs, "a number of milliseconds, or null");
  return outcome;
}
