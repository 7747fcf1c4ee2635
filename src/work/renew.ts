import { renewJobs } from "../database/statements.generated.js";
import { defaults, wholeNumber } from "../settings.js";
import type { ClaimedJob } from "./job.js";
import type { QueueSeams } from "./queue-seams.js";

/** `busy`: the row is held, but somebody has it locked this instant, for instance its own settle. It is not lost. */
export type Renewal =
  | { readonly id: string; readonly state: "renewed"; readonly leaseExpiresAt: Date }
  | { readonly id: string; readonly state: "busy" | "lost" };

/** Extends the leases of rows that one worker holds, in one statement. Rows locked by others are skipped, never waited for. */
export async function renew(
  seams: QueueSeams,
  jobs: readonly Pick<ClaimedJob, "id" | "workerId" | "fenceToken">[],
  leaseMs?: number,
): Promise<readonly Renewal[]> {
  const [first] = jobs;
  if (first === undefined) return [];
  const query = seams.bind(renewJobs, {
    jobs: JSON.stringify(jobs.map((job) => ({ id: job.id, token: job.fenceToken.toString() }))),
    workerId: first.workerId,
    leaseMs: BigInt(
      wholeNumber("leaseMs", leaseMs, { fallback: defaults.leaseMs, min: 100, max: 86_400_000 }),
    ),
    now: seams.clock.databaseNow(),
  });
  const timeoutMs = Math.ceil((leaseMs ?? defaults.leaseMs) / 6);
  const timely = { ...query, timeoutMs, triesMax: defaults.workerTriesMax };
  return (await seams.database.run(timely)).map((row) => {
    if (row.state === "renewed" && row.lease_expires_at !== null) {
      return { id: row.id, state: "renewed", leaseExpiresAt: row.lease_expires_at };
    }
    return { id: row.id, state: row.state === "busy" ? "busy" : "lost" };
  });
}

/** For whoever has made sure that it is not its own settle that took the row away. */
export function announceLost(
  seams: Pick<QueueSeams, "events" | "settings">,
  job: Pick<ClaimedJob, "id" | "fenceToken">,
): void {
  const queue = seams.settings.name;
  seams.events.emit("lease:lost", { queue, id: job.id, token: job.fenceToken, during: "renew" });
}
