import { setTimeout as sleep } from "node:timers/promises";
import type { Leasehold } from "../../src/index.js";
import { heartbeatMs } from "./settings.js";

/** The demo can't run here; its message is for the reader, who needs no stack. */
export class AlreadyRunningError extends Error {
  override name = "AlreadyRunningError";
}

/**
 * Two demos on one database would take each other's worker ids, so there is one at a time. Who is registered may also have been cut off with its machine:
 * whoever is not seen again for some heartbeats is gone.
 */
export async function refuseCompany(lh: Leasehold): Promise<void> {
  const before = await registered(lh);
  if (before.size === 0) return;
  await sleep(1.5 * heartbeatMs);
  for (const [id, seenAtMs] of await registered(lh)) {
    if (seenAtMs === before.get(id)) continue;
    throw new AlreadyRunningError(
      `A demo works on this database already (${id} was just seen). Stop it first.`,
    );
  }
}

async function registered(lh: Leasehold): Promise<ReadonlyMap<string, number>> {
  const workers = await lh.workers();
  const present = workers.filter(({ state, expiresInMs }) => state === "alive" && expiresInMs > 0);
  return new Map(present.map(({ id, lastSeenAt }) => [id, lastSeenAt.getTime()]));
}
