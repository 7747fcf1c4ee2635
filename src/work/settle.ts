import type { SettleRow } from "../database/rows.js";
import { findSettled, settleJobs } from "../database/statements.generated.js";
import { InvalidOptionError } from "../errors.js";
import type { Query } from "../seams/database.js";
import { defaults, delayInRange, oneOf } from "../settings.js";
import type { ClaimedJob } from "./job.js";
import { storableText } from "./json.js";
import type { Outcome } from "./outcome.js";
import type { QueueSeams } from "./queue-seams.js";
import { leaseOf, type SettleAnswer, type Settlement, type Tries } from "./settlement.js";

/**
 * Writes outcomes, one statement for each worker among them. Says for each, in the order given, whether the row
 * was still held. What was not held was not touched. May be repeated after an ambiguous commit.
 */
export async function settle(
  seams: QueueSeams,
  settlements: readonly Settlement[],
): Promise<readonly boolean[]> {
  const held = new Set<string>();
  for (const group of groupByWorker(settlements)) {
    const answers = await settleGroup(seams, group);
    group.forEach(({ job }, i) => {
      if (answers[i]?.held === true) held.add(leaseOf(job.id, job.fenceToken));
    });
  }
  return settlements.map(({ job }) => held.has(leaseOf(job.id, job.fenceToken)));
}

/** Settles rows of one worker, each named once. A try whose answer was lost (`mayHaveRun`) may have settled what a later one no longer finds. */
export async function settleGroup(
  seams: QueueSeams,
  group: readonly Settlement[],
  tries: Tries = { mayHaveRun: false, triesMax: defaults.databaseTriesMax },
): Promise<readonly SettleAnswer[]> {
  const { timeoutMs, triesMax } = { timeoutMs: defaults.settleTimeoutMs, triesMax: tries.triesMax };
  const query = { ...settleQuery(seams, group), timeoutMs, triesMax };
  let wasRepeated = tries.mayHaveRun;
  const rows = await seams.database.run(query, undefined, () => {
    wasRepeated = true;
  });
  const missing = rows.some((row) => !row.held);
  const found = wasRepeated && missing ? await seams.database.run(settledQuery(seams, group)) : [];
  const before = new Set(found.map((row) => leaseOf(row.id, row.token)));
  const answers = rows.map((row) => ({ ...row, held: row.held || before.has(leaseOf(row.id, row.token)) }));
  announce(seams, group, answers);
  const byLease = new Map(answers.map((row) => [leaseOf(row.id, row.token), row]));
  return group.map(({ job }) => {
    const row = byLease.get(leaseOf(job.id, job.fenceToken));
    return { held: row?.held === true, status: row?.status ?? null };
  });
}

export function settleQuery(seams: QueueSeams, settlements: readonly Settlement[]): Query<SettleRow> {
  return seams.bind(settleJobs, { ...settleParameters(settlements), now: seams.clock.databaseNow() });
}

/** Which of these an earlier try has settled whose answer was lost. */
export function settledQuery(
  seams: QueueSeams,
  settlements: readonly Settlement[],
): Query<{ readonly id: string; readonly token: string }> {
  return seams.bind(findSettled, settleParameters(settlements));
}

function settleParameters(settlements: readonly Settlement[]): { outcomes: string; workerId: string } {
  const outcomes = settlements.map(({ job, outcome }) => ({
    id: job.id,
    token: job.fenceToken.toString(),
    outcome: outcome.is,
    error: "error" in outcome ? storableText(String(outcome.error)) : undefined,
    stack: "stack" in outcome ? storableText(String(outcome.stack), defaults.errorStackMax) : undefined,
    delay_ms: outcome.is === "retry" && outcome.delayMs !== null ? delayInRange(outcome.delayMs) : undefined,
  }));
  return { outcomes: JSON.stringify(outcomes), workerId: settlements[0]?.job.workerId ?? "" };
}

export function announce(
  seams: QueueSeams,
  settlements: readonly Settlement[],
  rows: readonly SettleRow[],
): void {
  const byLease = new Map(rows.map((row) => [leaseOf(row.id, row.token), row]));
  const queue = seams.settings.name;
  for (const { job, outcome } of settlements) {
    const row = byLease.get(leaseOf(job.id, job.fenceToken));
    if (row?.held !== true)
      seams.events.emit("lease:lost", { queue, id: job.id, token: job.fenceToken, during: outcome.is });
    else {
      if (row.status === "dead_letter") announceDead(seams, job, outcome);
      if (!seams.events.isHeard("job:settled")) continue;
      seams.events.emit("job:settled", { queue, id: job.id, outcome: outcome.is, status: row.status ?? "" });
    }
  }
}

/** A settle by hand knows of its job no more than it was given. */
function announceDead(seams: QueueSeams, job: Settlement["job"], outcome: Outcome): void {
  const { kind = null, attempt = null } = job as Partial<ClaimedJob>;
  const error = "error" in outcome ? outcome.error : "";
  seams.events.emit("job:dead_lettered", { queue: seams.settings.name, id: job.id, kind, attempt, error });
}

function groupByWorker(settlements: readonly Settlement[]): Settlement[][] {
  const groups = new Map<string, Settlement[]>();
  const seen = new Set<string>();
  for (const settlement of settlements) {
    const { id, workerId, fenceToken } = settlement.job;
    const lease = `${workerId} ${leaseOf(id, fenceToken)}`;
    if (seen.has(lease)) throw new InvalidOptionError("settlements", id, "a list that names each job once");
    seen.add(lease);
    oneOf("outcome", settlement.outcome.is, ["complete", "retry", "dead_letter", "release"], "release");
    const group = groups.get(workerId) ?? [];
    groups.set(workerId, group);
    group.push(settlement);
  }
  return [...groups.values()];
}
