-- Housekeeping. Every statement is bounded, and one process at a time runs them (elect_housekeeper).

-- name: elect_housekeeper
-- Locks: one transaction-level advisory lock, tried and never waited for.
-- row: elected boolean
select pg_try_advisory_xact_lock(leasehold.lock_class('leasehold.queues'::regclass), 2048) as elected;

-- name: find_duty
-- Locks nothing; by duties_pkey. How long ago the fleet last did it.
-- nullable: now
-- row: ago_ms float8?
select (extract(epoch from coalesce(:now::timestamptz, clock_timestamp()) - d.done_at) * 1000)::float8 as ago_ms
from (select 1) one left join leasehold.duties d on d.name = :name::text;

-- name: record_duty
-- Locks the duty's row, by duties_pkey.
-- nullable: now
insert into leasehold.duties (name, done_at) values (:name::text, coalesce(:now::timestamptz, clock_timestamp()))
on conflict (name) do update set done_at = excluded.done_at;

-- name: mark_stale_workers
-- Locks the rows of workers that have not been seen for their TTL, in the order of their ids.
-- nullable: now
-- row: id text
with stale as materialized (
  select w.id from leasehold.workers w
  where w.status <> 'dead' and w.last_seen_at + w.ttl < coalesce(:now::timestamptz, now())
  order by w.id limit 1000 for update skip locked
), marked as (
  update leasehold.workers w set status = 'dead' from stale s where w.id = s.id returning w.id
), told as materialized (
  select pg_notify('leasehold_ring', 'stale') from (select 1 from marked limit 1) m
)
select m.id from marked m left join told on true order by m.id;

-- name: remove_dead_workers
-- Locks the rows it deletes: workers that have been dead for a day, at most 1000.
-- nullable: now
-- row: removed bigint
with old as materialized (
  select w.id from leasehold.workers w
  where w.status = 'dead' and w.last_seen_at < coalesce(:now::timestamptz, now()) - interval '1 day'
  order by w.id limit 1000 for update skip locked
), gone as (
  delete from leasehold.workers w using old o where w.id = o.id returning 1
)
select count(*) as removed from gone;

-- name: expire_dedupe
-- Locks the rows it deletes, oldest first, by dedupe_expiry. A key whose job is still in the queue goes on answering for it.
-- nullable: now
-- row: removed bigint
with old as materialized (
  select d.queue, d.idempotency_key from leasehold.dedupe d
  where d.queue = 'inbox' and d.expires_at < coalesce(:now::timestamptz, now())
    and not exists (select 1 from leasehold.inbox j where j.id = d.job_id)
  order by d.expires_at limit :limit::int for update skip locked
), gone as (
  delete from leasehold.dedupe d using old o where d.queue = o.queue and d.idempotency_key = o.idempotency_key returning 1
)
select count(*) as removed from gone;

-- name: expire_receipts
-- Locks the rows it deletes, oldest first, by receipts_expiry and handled_age.
-- nullable: now
-- row: removed bigint
with t as (
  select coalesce(:now::timestamptz, now()) as now
), receipts as (
  delete from leasehold.receipts r where r.id in (
    select o.id from leasehold.receipts o, t where o.expires_at < t.now order by o.expires_at limit :limit::int for update of o skip locked)
  returning 1
), handled as (
  delete from leasehold.handled h where (h.handler, h.message_id) in (
    select o.handler, o.message_id from leasehold.handled o, t
    where o.handled_at < t.now - :handled_retention_ms::float8 * interval '1 ms' order by o.handled_at limit :limit for update of o skip locked)
  returning 1
)
select (select count(*) from receipts) + (select count(*) from handled) as removed;

-- name: make_archive_days
-- Locks: the archive's parent for an instant per missing day (200 ms lock timeout inside).
-- nullable: now
-- row: made int
select leasehold.make_archive_days('inbox', :days::int, :now::timestamptz) as made;

-- name: drop_archive_days
-- Locks: the archive's parent for an instant per dropped day (200 ms lock timeout inside).
-- nullable: now
-- row: dropped int
select leasehold.drop_archive_days('inbox', :now::timestamptz) as dropped;

-- name: count_stray_archived
-- Locks nothing: rows that went to the rest because their day was missing.
-- row: strays bigint
select count(*) as strays from (select 1 from leasehold.inbox_archive_rest limit 1000) s;

-- name: take_sample
-- Locks the row it inserts and those it deletes: samples older than the limit given, by samples_pkey. Reads the hot table, or of a large one as many of its pages,
-- picked at random, as bytes are given: then counts are estimates, `share` tells of what part, and the oldest is not known.
-- nullable: now
with t as (
  select coalesce(:now::timestamptz, now()) as now
), trimmed as (
  delete from leasehold.samples s using t
  where s.queue = 'inbox' and s.taken_at < t.now - :keep_ms::float8 * interval '1 ms'
), pages as materialized (
  select least(1, :bytes_max::float8 / greatest(1, pg_relation_size('leasehold.inbox'))) as share
), seen as (
  select count(*) filter (where j.status = 'scheduled') as scheduled, count(*) filter (where j.status = 'pending') as pending,
         count(*) filter (where j.status = 'processing') as processing, count(*) filter (where j.status = 'dead_letter') as dead_letter,
         count(*) filter (where j.status = 'pending' and j.available_at <= t.now) as due,
         count(*) filter (where j.status in ('pending', 'scheduled') and j.attempts > 0) as retrying,
         count(*) filter (where j.status = 'processing' and j.lease_expires_at <= t.now) as expired,
         min(j.available_at) filter (where j.status = 'pending' and j.available_at <= t.now) as oldest_due_at
  from leasehold.inbox j tablesample system ((select 100 * p.share from pages p)), t
)
insert into leasehold.samples (queue, taken_at, counts)
select 'inbox', t.now, jsonb_build_object('scheduled', round(s.scheduled / p.share), 'pending', round(s.pending / p.share),
  'processing', round(s.processing / p.share), 'dead_letter', round(s.dead_letter / p.share), 'due', round(s.due / p.share),
  'retrying', round(s.retrying / p.share), 'expired', round(s.expired / p.share), 'oldest_due_at', case when p.share = 1 then s.oldest_due_at end, 'share', p.share)
from t, pages p, seen s on conflict do nothing;
