import { completeJobs } from "../database/statements.generated.js";
import { defaults } from "../settings.js";
import type { QueueSeams } from "./queue-seams.js";
import { settledQuery } from "./settle.js";
import { leaseOf, type SettleAnswer, type Settlement, type Tries } from "./settlement.js";

const done: SettleAnswer = Object.freeze({ held: true, status: "completed" });
const answeredBefore: SettleAnswer = Object.freeze({ held: true, status: null });
const notHeld: SettleAnswer = Object.freeze({ held: false, status: null });

/**
 * Settles rows of one worker that are all done, each named once: the same as settle(), for what happens to nearly every row. The ids go as one text and only
 * what was not held comes back.
 */
export async function completeMany(
  seams: QueueSeams,
  group: readonly Settlement[],
  tries: Tries,
): Promise<readonly SettleAnswer[]> {
  const query = {
    ...seams.bind(completeJobs, {
      workerId: group[0]?.job.workerId ?? "",
      ids: `{${group.map(({ job }) => job.id).join(",")}}`,
      tokens: `{${tokensOf(group).join(",")}}`,
      now: seams.clock.databaseNow(),
    }),
    timeoutMs: defaults.settleTimeoutMs,
    triesMax: tries.triesMax,
  };
  let wasRepeated = tries.mayHaveRun;
  const missing = await seams.database.run(query, undefined, () => {
    wasRepeated = true;
  });
  if (missing.length === 0) {
    for (const { job } of group) announceDone(seams, job.id);
    return group.map(() => done);
  }
  const missed = new Set(missing.map((row) => leaseOf(row.id, row.token)));
  const unheld = group.filter(({ job }) => missed.has(leaseOf(job.id, job.fenceToken)));
  const found = wasRepeated ? await seams.database.run(settledQuery(seams, unheld)) : [];
  const before = new Set(found.map((row) => leaseOf(row.id, row.token)));
  return group.map(({ job }) => {
    const lease = leaseOf(job.id, job.fenceToken);
    if (!missed.has(lease) || before.has(lease)) {
      announceDone(seams, job.id);
      return missed.has(lease) ? answeredBefore : done;
    }
    const queue = seams.settings.name;
    seams.events.emit("lease:lost", { queue, id: job.id, token: job.fenceToken, during: "complete" });
    return notHeld;
  });
}

/** One token for all, or one for each. */
function tokensOf(group: readonly Settlement[]): readonly bigint[] {
  const first = group[0]?.job.fenceToken ?? 0n;
  return group.every(({ job }) => job.fenceToken === first)
    ? [first]
    : group.map(({ job }) => job.fenceToken);
}

function announceDone(seams: QueueSeams, id: string): void {
  if (!seams.events.isHeard("job:settled")) return;
  const queue = seams.settings.name;
  seams.events.emit("job:settled", { queue, id, outcome: "complete", status: "completed" });
}
