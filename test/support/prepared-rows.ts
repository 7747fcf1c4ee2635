import type { World } from "./world.js";

/** A row of a queue's table as an incident needs it. Times are seconds from now, negative for the past. */
export interface PreparedRow {
  readonly key: string;
  readonly kind?: string;
  readonly status?: "scheduled" | "pending" | "processing" | "dead_letter";
  readonly dueS?: number;
  readonly createdS?: number;
  readonly claimedBy?: string;
  readonly claimedS?: number;
  readonly leaseEndS?: number;
  /** When a dead letter died that lets its key go on. */
  readonly finishedS?: number;
  readonly attempts?: number;
  readonly crashes?: number;
  readonly priority?: number;
  readonly error?: string;
}

/** Writes rows in this order, whatever the library would allow, and answers with their ids, which are numbered from `from` on. */
export async function prepareRows(
  world: World,
  rows: readonly PreparedRow[],
  queue = "inbox",
  from = 0,
): Promise<readonly string[]> {
  const made = await world.sql<{ id: string }>(
    `insert into leasehold.${queue} (id, seq, kind, payload, partition_key, max_attempts, status, available_at, created_at, claimed_by, claimed_at, lease_expires_at,
       lease_generation, finished_at, attempts, crashes, priority, last_error)
     select ('01900000-0000-7000-8000-' || lpad(r.n::text, 12, '0'))::uuid, nextval('leasehold.${queue}_seq'), coalesce(r.kind, 'step'), '1', r.key, 12, coalesce(r.status, 'pending'),
       now() + coalesce(r."dueS", 0) * interval '1 s', now() + coalesce(r."createdS", r."dueS", 0) * interval '1 s', r."claimedBy", now() + r."claimedS" * interval '1 s',
       now() + r."leaseEndS" * interval '1 s', case when r."claimedBy" is null then 0 else 7 end, now() + r."finishedS" * interval '1 s',
       coalesce(r.attempts, 0), coalesce(r.crashes, 0), coalesce(r.priority, 0), r.error
     from json_to_recordset($1) r(key text, kind text, status text, "dueS" float8, "createdS" float8, "claimedBy" text, "claimedS" float8, "leaseEndS" float8,
       "finishedS" float8, attempts int, crashes int, priority int, error text, n bigint)
     order by r.n returning id`,
    [JSON.stringify(rows.map((row, n) => ({ ...row, n: from + n })))],
  );
  return made.map((row) => row.id);
}
