-- For operators: look, explain, redrive, discard. Reads lock nothing.

-- name: count_jobs
-- Locks nothing. Reads the hot table once; finished rows are not in it.
-- nullable: now
-- row: scheduled bigint, pending bigint, processing bigint, dead_letter bigint, due bigint, retrying bigint, expired bigint, oldest_due_at timestamptz?
select count(*) filter (where status = 'scheduled') as scheduled, count(*) filter (where status = 'pending') as pending,
       count(*) filter (where status = 'processing') as processing, count(*) filter (where status = 'dead_letter') as dead_letter,
       count(*) filter (where status = 'pending' and available_at <= t.now) as due,
       count(*) filter (where status in ('pending', 'scheduled') and attempts > 0) as retrying,
       count(*) filter (where status = 'processing' and lease_expires_at <= t.now) as expired,
       min(available_at) filter (where status = 'pending' and available_at <= t.now) as oldest_due_at
from leasehold.inbox, (select coalesce(:now::timestamptz, now()) as now) t;

-- name: list_jobs
-- Locks nothing; newest first, a page after the id given, by inbox_pkey.
-- nullable: status, kind, partition_key, before
-- row: id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int, status text, attempts int, crashes int, max_attempts int, priority int, available_at timestamptz, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint, last_error text?, errors jsonb, idempotency_key text?, created_at timestamptz, finished_at timestamptz?
select id, seq, kind, payload, headers, partition_key, partition_bucket, status, attempts, crashes, max_attempts, priority,
       available_at, claimed_by, claimed_at, lease_expires_at, lease_generation, last_error, errors, idempotency_key, created_at,
       finished_at
from leasehold.inbox
where (:status::text is null or status = :status) and (:kind::text is null or kind = :kind)
  and (:partition_key::text is null or partition_key = :partition_key) and (:before::uuid is null or id < :before)
order by id desc limit :limit::int;

-- name: list_archived_jobs
-- Locks nothing; newest first, a page after the id given, by inbox_archive_id_idx of each day.
-- nullable: status, kind, partition_key, before
-- row: id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int, status text, attempts int, crashes int, max_attempts int, priority int, available_at timestamptz, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint, last_error text?, errors jsonb, idempotency_key text?, created_at timestamptz, finished_at timestamptz?
select id, seq, kind, payload, headers, partition_key, partition_bucket, status, attempts, crashes, max_attempts, priority,
       available_at, claimed_by, claimed_at, null::timestamptz as lease_expires_at, lease_generation, last_error, errors,
       idempotency_key, created_at, finished_at
from leasehold.inbox_archive
where (:status::text is null or status = :status) and (:kind::text is null or kind = :kind)
  and (:partition_key::text is null or partition_key = :partition_key) and (:before::uuid is null or id < :before)
order by id desc limit :limit::int;

-- name: get_job
-- Locks nothing; by inbox_pkey, then by inbox_archive_id_idx of each day.
-- row: id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int, status text, attempts int, crashes int, max_attempts int, priority int, available_at timestamptz, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint, last_error text?, errors jsonb, idempotency_key text?, created_at timestamptz, finished_at timestamptz?
select id, seq, kind, payload, headers, partition_key, partition_bucket, status, attempts, crashes, max_attempts, priority,
       available_at, claimed_by, claimed_at, lease_expires_at, lease_generation, last_error, errors, idempotency_key, created_at,
       finished_at
from leasehold.inbox where id = :id::uuid
union all
select id, seq, kind, payload, headers, partition_key, partition_bucket, status, attempts, crashes, max_attempts, priority,
       available_at, claimed_by, claimed_at, null, lease_generation, last_error, errors, idempotency_key, created_at, finished_at
from leasehold.inbox_archive where id = :id::uuid
limit 1;

-- name: explain_job
-- Locks nothing. What stands in the way of a row that is in line: its queue, the first unfinished row of its key or the one
-- in process, among the first thousand, and whether the worker that holds it is alive. By inbox_line.
-- nullable: now
-- row: now timestamptz, paused_at timestamptz?, worker_status text?, blocker_id uuid?, blocker_status text?, blocker_kind text?, blocker_available_at timestamptz?, blocker_claimed_by text?, blocker_lease_expires_at timestamptz?, blocker_last_error text?, ahead bigint, workers_alive bigint
select t.now, q.paused_at, case when w.left_at is null then w.status else 'left' end as worker_status,
       b.id as blocker_id, b.status as blocker_status, b.kind as blocker_kind, b.available_at as blocker_available_at,
       b.claimed_by as blocker_claimed_by, b.lease_expires_at as blocker_lease_expires_at, b.last_error as blocker_last_error,
       (select count(*) from (select 1 from leasehold.inbox a where a.in_line and a.partition_bucket = j.partition_bucket
          and a.partition_key = j.partition_key and a.seq < j.seq and q."order" = 'key' limit 1000) c) as ahead,
       (select count(*) from leasehold.workers v where v.status = 'alive' and v.last_seen_at + v.ttl > t.now
          and 'inbox' = any(v.queues)) as workers_alive
from leasehold.inbox j
cross join (select coalesce(:now::timestamptz, now()) as now) t
join leasehold.queues q on q.name = 'inbox'
left join leasehold.workers w on w.id = j.claimed_by
left join lateral (
  select f.* from (
    select f.* from leasehold.inbox f
    where q."order" = 'key' and f.in_line and f.partition_bucket = j.partition_bucket and f.partition_key = j.partition_key
    order by f.seq limit 1000) f
  where f.id <> j.id and (f.seq < j.seq or f.status = 'processing')
  order by (f.status = 'processing') desc, f.seq limit 1) b on true
where j.id = :id::uuid;

-- name: pick_jobs
-- Locks nothing: the ids that a filter means, in the order of their places, for the bounded statements below.
-- `waiting` leaves out what is due already, which a redrive would not change.
-- nullable: ids, kind, partition_key, now
-- row: id uuid
select id from leasehold.inbox
where (:ids::uuid[] is null or id = any(:ids)) and status = any(:statuses::text[])
  and (not :waiting::boolean or status = 'dead_letter' or available_at > coalesce(:now::timestamptz, clock_timestamp()))
  and (:kind::text is null or kind = :kind) and (:partition_key::text is null or partition_key = :partition_key)
order by seq limit :limit::int;

-- name: redrive_jobs
-- Locks: job rows in the order of their ids, by inbox_pkey. See migration 0009.
-- nullable: now
-- row: id uuid
select id from leasehold.inbox_redrive(:ids::uuid[], :now::timestamptz) as id order by id;

-- name: discard_jobs
-- Locks: job rows in the order of their ids with skip locked, by inbox_pkey. Rows in process are left alone: their worker holds them.
-- nullable: now, reason
-- row: id uuid
with held as materialized (
  select j.id from leasehold.inbox j
  where j.id = any(:ids::uuid[]) and j.status <> 'processing' order by j.id for update skip locked
), gone as (
  delete from leasehold.inbox j using held h where j.id = h.id returning j.*
), archived as (
  insert into leasehold.inbox_archive (id, seq, lease_generation, available_at, created_at, claimed_at, finished_at, attempts,
    crashes, max_attempts, priority, partition_bucket, status, kind, partition_key, claimed_by, idempotency_key, last_error,
    headers, errors, payload)
  select g.id, g.seq, g.lease_generation, g.available_at, g.created_at, g.claimed_at, coalesce(:now::timestamptz, clock_timestamp()),
    g.attempts, g.crashes, g.max_attempts, g.priority, g.partition_bucket, 'discarded', g.kind, g.partition_key, g.claimed_by,
    g.idempotency_key, coalesce(:reason::text, g.last_error), g.headers, g.errors, g.payload
  from gone g join leasehold.queues q on q.name = 'inbox' and q.retention > interval '0'
)
select g.id from gone g order by g.id;
