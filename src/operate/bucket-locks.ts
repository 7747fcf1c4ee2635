import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { findBucketLocks } from "../database/statements.generated.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";

/** What to say of each of these buckets whose lock somebody holds without claiming. Advisory locks have no rights: every role that may connect can take them. */
export async function bucketLocks(
  seams: { readonly database: GuardedDatabase; readonly bind: Binder; readonly clock: Clock },
  buckets: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const given = { buckets, lateMs: defaults.bucketLockMs, now: seams.clock.databaseNow() };
  const rows = await seams.database.run(seams.bind(findBucketLocks, given));
  return new Map(
    rows.map(({ bucket, pid, role, application }) => [
      bucket,
      `the session ${pid} of ${role} (${application === "" ? "no application_name" : application}) holds its lock and does nothing, so no claim can look into it. End it with: select pg_terminate_backend(${pid})`,
    ]),
  );
}
