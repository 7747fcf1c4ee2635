-- For operators: look, explain, redrive, discard. Reads lock nothing.

-- name: count_jobs
-- Locks nothing. Reads the hot table once; finished rows are not in it. With order: key a worker runs one row of a key at a time, so of the rows in process that
-- have the same key and holder all but one have not been started; pairs are told apart by a hash of 64 bits.
-- nullable: now
-- row: scheduled bigint, pending bigint, processing bigint, dead_letter bigint, due bigint, retrying bigint, expired bigint, oldest_due_at timestamptz?, prefetched bigint
select c.scheduled, c.pending, c.processing, c.dead_letter, c.due, c.retrying, c.expired, c.oldest_due_at,
       case when q."order" = 'key' then c.processing - (select count(distinct h) from unnest(c.held) h) else 0 end as prefetched
from leasehold.queues q cross join (
  select count(*) filter (where status = 'scheduled') as scheduled, count(*) filter (where status = 'pending') as pending,
         count(*) filter (where status = 'processing') as processing, count(*) filter (where status = 'dead_letter') as dead_letter,
         count(*) filter (where status = 'pending' and available_at <= t.now) as due,
         count(*) filter (where status in ('pending', 'scheduled') and attempts > 0) as retrying,
         count(*) filter (where status = 'processing' and lease_expires_at <= t.now) as expired,
         min(available_at) filter (where status = 'pending' and available_at <= t.now) as oldest_due_at,
         array_agg(hashtextextended(partition_key, hashtext(claimed_by))) filter (where status = 'processing') as held
  from leasehold.inbox, (select coalesce(:now::timestamptz, now()) as now) t) c
where q.name = 'inbox';

-- name: estimate_jobs
-- Locks nothing. As count_jobs, of a part of a large table: as many of its pages, picked at random, as bytes are given, scaled up; `share` tells of what part. The oldest due row is also looked for
-- among the first rows by id, by inbox_pkey, since a sample is not likely to have it.
-- nullable: now
-- row: scheduled bigint, pending bigint, processing bigint, dead_letter bigint, due bigint, retrying bigint, expired bigint, oldest_due_at timestamptz?, prefetched bigint, share float8
with t as (
  select coalesce(:now::timestamptz, now()) as now
), pages as materialized (
  select least(1, :bytes_max::float8 / greatest(1, pg_relation_size('leasehold.inbox'))) as share
), seen as materialized (
  select count(*) filter (where j.status = 'scheduled') as scheduled, count(*) filter (where j.status = 'pending') as pending,
         count(*) filter (where j.status = 'processing') as processing, count(*) filter (where j.status = 'dead_letter') as dead_letter,
         count(*) filter (where j.status = 'pending' and j.available_at <= t.now) as due,
         count(*) filter (where j.status in ('pending', 'scheduled') and j.attempts > 0) as retrying,
         count(*) filter (where j.status = 'processing' and j.lease_expires_at <= t.now) as expired,
         min(j.available_at) filter (where j.status = 'pending' and j.available_at <= t.now) as oldest_due_at,
         array_agg(hashtextextended(j.partition_key, hashtext(j.claimed_by))) filter (where j.status = 'processing') as held
  from leasehold.inbox j tablesample system ((select 100 * p.share from pages p)), t
), front as materialized (
  select min(f.available_at) as oldest_due_at
  from (select j.status, j.available_at from leasehold.inbox j where (select p.share < 1 from pages p) order by j.id limit :front_rows::int) f, t
  where f.status = 'pending' and f.available_at <= t.now
)
select round(s.scheduled / p.share)::bigint as scheduled, round(s.pending / p.share)::bigint as pending, round(s.processing / p.share)::bigint as processing,
       round(s.dead_letter / p.share)::bigint as dead_letter, round(s.due / p.share)::bigint as due, round(s.retrying / p.share)::bigint as retrying,
       round(s.expired / p.share)::bigint as expired, least(s.oldest_due_at, f.oldest_due_at) as oldest_due_at,
       case when q."order" = 'key' then round((s.processing - (select count(distinct h) from unnest(s.held) h)) / p.share) else 0 end::bigint as prefetched, p.share
from leasehold.queues q cross join pages p cross join seen s cross join front f
where q.name = 'inbox';

-- name: list_jobs
-- Locks nothing; newest first, a page after the id given, by inbox_pkey.
-- A payload of more bytes than given is left out with its headers, so that a page has a limit.
-- nullable: status, kind, partition_key, before
-- row: id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int, status text, attempts int, crashes int, max_attempts int, priority int, available_at timestamptz, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint, last_error text?, errors jsonb, idempotency_key text?, created_at timestamptz, finished_at timestamptz?, payload_omitted boolean
select id, seq, kind, case when bytes <= :payload_bytes::int then payload end as payload, case when bytes <= :payload_bytes then headers else '{}' end as headers, partition_key, partition_bucket, status, attempts, crashes, max_attempts, priority,
       available_at, claimed_by, claimed_at, lease_expires_at, lease_generation, last_error, errors, idempotency_key, created_at,
       finished_at, bytes > :payload_bytes as payload_omitted
from leasehold.inbox
where (:status::text is null or status = :status) and (:kind::text is null or kind = :kind)
  and (:partition_key::text is null or partition_key = :partition_key) and (:before::uuid is null or id < :before)
order by id desc limit :limit::int;

-- name: list_archived_jobs
-- Locks nothing; newest first, a page after the id given, by inbox_archive_id_idx of each day.
-- A payload of more bytes than given is left out with its headers, so that a page has a limit. The archive does not store sizes: one that is large as it is stored is not read.
-- nullable: status, kind, partition_key, before
-- row: id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int, status text, attempts int, crashes int, max_attempts int, priority int, available_at timestamptz, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint, last_error text?, errors jsonb, idempotency_key text?, created_at timestamptz, finished_at timestamptz?, payload_omitted boolean
select id, seq, kind, case when not o.is_large then a.payload end as payload, case when not o.is_large then a.headers else '{}' end as headers, partition_key, partition_bucket, status, attempts, crashes, max_attempts, priority,
       available_at, claimed_by, claimed_at, null::timestamptz as lease_expires_at, lease_generation, last_error, errors,
       idempotency_key, created_at, finished_at, o.is_large as payload_omitted
from leasehold.inbox_archive a cross join lateral (
  select case when pg_column_size(a.payload) > 2::bigint * :payload_bytes::int then true
              else octet_length(a.payload::text) + octet_length(a.headers::text) > :payload_bytes end as is_large offset 0) o
where (:status::text is null or status = :status) and (:kind::text is null or kind = :kind)
  and (:partition_key::text is null or partition_key = :partition_key) and (:before::uuid is null or id < :before)
order by id desc limit :limit::int;

-- name: list_archived_dead_letters
-- Locks nothing; newest first, a page after the id given, by inbox_archive_dead of each day. A statement of its own: a plan for any status can't use that index.
-- nullable: kind, partition_key, before
-- row: id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int, status text, attempts int, crashes int, max_attempts int, priority int, available_at timestamptz, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint, last_error text?, errors jsonb, idempotency_key text?, created_at timestamptz, finished_at timestamptz?, payload_omitted boolean
select id, seq, kind, case when not o.is_large then a.payload end as payload, case when not o.is_large then a.headers else '{}' end as headers, partition_key, partition_bucket, status, attempts, crashes, max_attempts, priority,
       available_at, claimed_by, claimed_at, null::timestamptz as lease_expires_at, lease_generation, last_error, errors,
       idempotency_key, created_at, finished_at, o.is_large as payload_omitted
from leasehold.inbox_archive a cross join lateral (
  select case when pg_column_size(a.payload) > 2::bigint * :payload_bytes::int then true
              else octet_length(a.payload::text) + octet_length(a.headers::text) > :payload_bytes end as is_large offset 0) o
where status = 'dead_letter' and (:kind::text is null or kind = :kind)
  and (:partition_key::text is null or partition_key = :partition_key) and (:before::uuid is null or id < :before)
order by id desc limit :limit::int;

-- name: get_job
-- Locks nothing; by inbox_pkey, then by inbox_archive_id_idx of each day.
-- A payload of more bytes than given is left out with its headers, so that an answer has a limit.
-- row: id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int, status text, attempts int, crashes int, max_attempts int, priority int, available_at timestamptz, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint, last_error text?, errors jsonb, idempotency_key text?, created_at timestamptz, finished_at timestamptz?, payload_omitted boolean
select id, seq, kind, case when bytes <= :payload_bytes::int then payload end as payload, case when bytes <= :payload_bytes then headers else '{}' end as headers, partition_key, partition_bucket, status, attempts, crashes, max_attempts, priority,
       available_at, claimed_by, claimed_at, lease_expires_at, lease_generation, last_error, errors, idempotency_key, created_at,
       finished_at, bytes > :payload_bytes as payload_omitted
from leasehold.inbox where id = :id::uuid
union all
select id, seq, kind, case when not o.is_large then a.payload end as payload, case when not o.is_large then a.headers else '{}' end as headers, partition_key, partition_bucket, status, attempts, crashes, max_attempts, priority,
       available_at, claimed_by, claimed_at, null, lease_generation, last_error, errors, idempotency_key, created_at, finished_at, o.is_large
from leasehold.inbox_archive a cross join lateral (
  select case when pg_column_size(a.payload) > 2::bigint * :payload_bytes::int then true
              else octet_length(a.payload::text) + octet_length(a.headers::text) > :payload_bytes end as is_large offset 0) o
where id = :id::uuid
limit 1;

-- name: explain_job
-- Locks nothing. What stands in the way of a row that is in line: its queue, the first unfinished row of its key or the one
-- in process, among the first thousand, and whether the worker that holds it is alive. `is_prefetched`: its worker holds an earlier row of its key, so it has not
-- been started. By inbox_line.
-- nullable: now
-- row: now timestamptz, paused_at timestamptz?, worker_status text?, is_ordered boolean, is_prefetched boolean, blocker_id uuid?, blocker_status text?, blocker_kind text?, blocker_available_at timestamptz?, blocker_claimed_by text?, blocker_lease_expires_at timestamptz?, blocker_last_error text?, ahead bigint, workers_alive bigint
select t.now, q.paused_at, case when w.left_at is null then w.status else 'left' end as worker_status, q."order" = 'key' as is_ordered,
       coalesce(j.status = 'processing' and b.status = 'processing' and b.claimed_by = j.claimed_by and b.seq < j.seq, false) as is_prefetched,
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

-- name: draw_place
-- Locks nothing. Every row in the queue has a lower place; what is placed from now on has a higher one.
-- row: seq bigint
select nextval('leasehold.inbox_seq') as seq;

-- name: pick_for_redrive
-- Locks nothing: some of the ids that a filter means, in the order of their places, as many as given. There is no index on places, so each call reads the table (`finished_only`: by inbox_finished, when the
-- planner likes it) and sorts; a caller takes many at once. A row that is redriven keeps its place, behind those picked, or draws one above `below`: no call finds it again.
-- What is due already is left out: a redrive would not change it. Archived dead letters are found by their ids only.
-- nullable: ids, kind, partition_key, fingerprint, now
-- row: id uuid, seq bigint
select id, seq from leasehold.inbox
where (seq, id) > (:after_seq::bigint, :after_id::uuid) and seq < :below::bigint
  and (:ids::uuid[] is null or id = any(:ids)) and status = any(:statuses::text[]) and (not :finished_only::boolean or finished_at is not null)
  and (status = 'dead_letter' or available_at > coalesce(:now::timestamptz, clock_timestamp()))
  and (:kind::text is null or kind = :kind) and (:partition_key::text is null or partition_key = :partition_key)
  and (:fingerprint::text is null or leasehold.error_fingerprint(last_error) = :fingerprint)
union all
select id, seq from leasehold.inbox_archive
where :ids::uuid[] is not null and id = any(:ids) and status = 'dead_letter' and status = any(:statuses::text[])
  and (seq, id) > (:after_seq::bigint, :after_id::uuid)
  and (:kind::text is null or kind = :kind) and (:partition_key::text is null or partition_key = :partition_key)
  and (:fingerprint::text is null or leasehold.error_fingerprint(last_error) = :fingerprint)
order by seq, id limit :limit::int;

-- name: redrive_jobs
-- Locks: job rows in the order of their ids, by inbox_pkey. See migration 0009.
-- nullable: now
-- row: changed int
select leasehold.inbox_redrive(:ids::uuid[], :statuses::text[], :receipt::uuid, :detail::jsonb, :now::timestamptz) as changed;

-- name: pick_for_discard
-- Locks nothing: all the ids that a filter means, as many as given, by inbox_pkey or in one reading of the table. One statement and one snapshot, so that nothing that commits later is among them,
-- whatever its id, place or time. Ids do not change as places do, so a row that is promoted meanwhile is found all the same. They come one after another in one text, 36 characters
-- each: a million of them as rows would take many times the memory.
-- nullable: ids, kind, partition_key, fingerprint
-- row: ids text?
select string_agg(p.id::text, '' order by p.id) as ids from (
  select id from leasehold.inbox
  where (:ids::uuid[] is null or id = any(:ids)) and status = any(:statuses::text[])
    and (:kind::text is null or kind = :kind) and (:partition_key::text is null or partition_key = :partition_key)
    and (:fingerprint::text is null or leasehold.error_fingerprint(last_error) = :fingerprint)
  order by id limit :limit::int) p;

-- name: discard_jobs
-- Locks: job rows in the order of their ids, by inbox_pkey. See migration 0009.
-- nullable: now, reason
-- row: changed int
select leasehold.inbox_discard(:ids::uuid[], :statuses::text[], :reason::text, :receipt::uuid, :detail::jsonb, :now::timestamptz) as changed;

-- name: limit_support_query
-- Locks nothing. For the transaction that it is in: nothing may be written, and nothing is compiled. A support query has a branch for each order of a queue; the one that
-- is not run makes the planner's estimate so high that compiling takes half a second.
-- row: read_only text, jit text
select set_config('transaction_read_only', 'on', true) as read_only, set_config('jit', 'off', true) as jit;
