import type { Violation } from "../simulation/history.js";
import { defaults } from "../src/index.js";
import type { Recovery } from "./recoveries.js";
import { heartbeatMs, leaseMs } from "./settings.js";

/** What a machine with more processes than cores may add. */
const slackMs = 6_000;
/** The longest wait that a handler of the run asks for; what is longer is a backoff of the queue. */
const askedMs = 1_000;

/**
 * How long a job that was lost with its process may wait for anything but earlier rows that run, if nothing happens meanwhile to the server and to those who hold rows of its key. Sessions tell of the
 * loss within 3 s, otherwise the TTL; the lease that was renewed at the end of the process ends it in any case. Then a worker that owns the bucket finds it at its next poll.
 */
export const recoveryBoundMs: number = leaseMs + defaults.pollIdleMs + slackMs;

/**
 * What it may take longer while somebody's claims are refused, whose bucket it may be: claims fail at most one poll apart, then the next beat says so, and who beats after that owns the bucket.
 */
export const greyMs: number = defaults.claimFailuresMax * defaults.pollIdleMs + 2 * heartbeatMs;

/**
 * Recoveries that nothing else has disturbed and that took too long, or that waited for a backoff: a process that is gone has not failed. One that claimed by hand is in no registry, so its jobs have a
 * backoff too; and so have those of a process that was ill when it was killed, if their leases, which it could not renew or settle, ended before its loss was noticed.
 */
export function lateRecoveries(recoveries: readonly Recovery[]): readonly Violation[] {
  return recoveries.flatMap(({ id, key, ms, causes, backoffMs, faults, greys, isByHand, wasIll }) => {
    const mayBackOff = isByHand || wasIll;
    const allowedMs = mayBackOff
      ? (causes.get("its own backoff") ?? 0) + (causes.get("an earlier row is backing off") ?? 0)
      : 0;
    const waitedMs = ms - (causes.get("an earlier row runs") ?? 0) - allowedMs;
    const boundMs = recoveryBoundMs + (greys.length > 0 ? greyMs : 0);
    if (faults.length > 0 || (waitedMs <= boundMs && (mayBackOff || backoffMs <= askedMs))) return [];
    const waits = [...causes].map(([cause, waited]) => `${cause} ${Math.round(waited)} ms`).join(", ");
    const message = `Job ${id} of ${key} was lost with its process and started ${Math.round(ms)} ms later, without another fault; it waited for: ${waits}.`;
    return [{ checker: "recovery in time", message, about: [id, key] }];
  });
}
