import { completeJobs } from "../database/statements.generated.js";
import type { Membership } from "../membership/membership.js";
import type { OwnedBuckets } from "../membership/owned-buckets.js";
import type { Activity } from "../runtime/activity.js";
import { defaults } from "../settings.js";
import type { ClaimActivity } from "./claim-pass.js";
import type { Claimer } from "./claimer.js";
import type { Dispatcher } from "./dispatch.js";
import type { Health } from "./health.js";
import type { QueueSeams } from "./queue-seams.js";
import { settleQuery } from "./settle.js";

export interface ProbeParts {
  readonly membership: Membership;
  readonly owned: OwnedBuckets;
  readonly dispatcher: Dispatcher;
  readonly claimer: Claimer;
  readonly claim: ClaimActivity;
  readonly health: Health;
}

const noJob = "00000000-0000-0000-0000-000000000000";

/** Claims while that works. A worker that fails claims nothing but a row now and then, to find out whether it works again. */
export function claimOrProbe(seams: QueueSeams, parts: ProbeParts): Activity {
  const { claim, dispatcher, health, membership } = parts;
  return {
    name: claim.name,
    async run() {
      if (health.failing === null) return await claim.run();
      await claim.finish();
      dispatcher.reserve(0);
      dispatcher.pump();
      const waitMs = health.probeInMs();
      if (waitMs > 0) return waitMs;
      if (!membership.trust.isOpen() || membership.isSuperseded) return defaults.pollActiveMs;
      health.probing();
      await probe(seams, parts);
      return health.failing === null ? 0 : health.probeInMs();
    },
  };
}

/** Claims one row of the buckets that this worker would own. Another worker may own them now: the rows say who may claim. A success is noted where it happens; a failure is thrown, and the loop reports it. */
async function probe(seams: QueueSeams, parts: ProbeParts): Promise<void> {
  const { claimer, dispatcher, health, membership, owned } = parts;
  const buckets = owned.ifCounted(membership.settings.region);
  if (buckets.length === 0) return;
  const look = { buckets, isWhole: false, isSpan: false, isWoken: false, known: null };
  const pass = await claimer.claim(look, {
    limit: 1,
    run: 1,
    retries: 1,
    suspects: 0,
    bytes: defaults.claimBytesMax,
  });
  dispatcher.pump();
  if (pass === null || pass.jobs.length > 0 || health.failing?.what !== "settle") return;
  await tryToSettleNothing(seams, membership.settings.id);
  health.settled("complete");
  health.settled("other");
}

/** With no row to settle, the statements that do it are asked about one that does not exist. */
async function tryToSettleNothing(seams: QueueSeams, workerId: string): Promise<void> {
  const { bind, clock, database } = seams;
  const once = { timeoutMs: defaults.settleTimeoutMs, triesMax: 1 };
  const job = { id: noJob, fenceToken: 0n, workerId };
  const now = clock.databaseNow();
  await database.run({ ...bind(completeJobs, { workerId, ids: `{${noJob}}`, tokens: "{0}", now }), ...once });
  await database.run({ ...settleQuery(seams, [{ job, outcome: { is: "release" } }]), ...once });
}
