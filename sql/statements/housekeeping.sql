-- Housekeeping. Every statement is bounded, and one process at a time runs them (take_duty); two at a time would do no harm.

-- name: take_duty
-- Locks the duty's row, by duties_pkey. Takes the duty for a round, or goes on holding it: one row when it is the round's. Not while a round that began within the interval (0 for none) is
-- the last one, nor while another one is under way, unless that is overdue: its process is gone. A time far ahead of the clock's is from before the clock was set back. The time is
-- read again after the row is locked, so that of two rounds at the same moment one has it. May be sent again.
-- nullable: now
-- row: name text
insert into leasehold.duties as d (name, done_at, taken_by) values (:name::text, coalesce(:now::timestamptz, clock_timestamp()), :round::uuid)
on conflict (name) do update set done_at = excluded.done_at, taken_by = excluded.taken_by
where d.taken_by = excluded.taken_by
   or d.done_at > coalesce(:now::timestamptz, clock_timestamp()) + :overdue_ms::float8 * interval '1 ms'
   or d.done_at <= coalesce(:now::timestamptz, clock_timestamp()) - :overdue_ms::float8 * interval '1 ms' and d.taken_by is not null
   or (:within_ms::float8 = 0 or d.done_at <= coalesce(:now::timestamptz, clock_timestamp()) - :within_ms::float8 * interval '1 ms') and d.taken_by is null
returning d.name;

-- name: end_duty
-- Locks the duty's row, by duties_pkey, if the round still has it.
update leasehold.duties set taken_by = null where name = :name::text and taken_by = :round::uuid;

-- name: mark_stale_workers
-- Locks the rows of workers that have not been seen for their TTL, in the order of their ids.
-- nullable: now
-- row: id text
with stale as materialized (
  select w.id from leasehold.workers w
  where w.status <> 'dead' and w.last_seen_at + w.ttl < coalesce(:now::timestamptz, now())
  order by w.id limit 1000 for update skip locked
), marked as (
  update leasehold.workers w set status = 'dead' from stale s where w.id = s.id returning w.id, w.last_seen_at
), noted as (
  insert into leasehold.history (at, kind, worker_id, detail)
  select coalesce(:now::timestamptz, clock_timestamp()), 'worker:dead', m.id, jsonb_build_object('rule', 'ttl', 'last_seen_at', m.last_seen_at) from marked m
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

-- name: list_unhandled_kinds
-- Locks nothing. Kinds among the first rows of the table that no live worker of the queue has a handler for; none while the queue has no live worker.
-- nullable: now
-- row: kind text, rows bigint
with live as materialized (
  select w.kinds from leasehold.workers w
  where w.status = 'alive' and 'inbox' = any(w.queues) and w.last_seen_at + w.ttl > coalesce(:now::timestamptz, clock_timestamp())
)
select s.kind, count(*) as rows from (select j.kind, j.status from leasehold.inbox j limit :limit::int) s
where s.status = 'pending' and exists (select 1 from live)
  and not exists (select 1 from live l where not l.kinds ? 'inbox' or l.kinds -> 'inbox' ? s.kind)
group by s.kind order by s.kind;

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

-- name: expire_fences
-- Locks the rows it deletes, oldest first, by fences_age; one that a transaction is raising is skipped. A fence's time is up to a day behind.
-- nullable: now
-- row: removed bigint
with old as materialized (
  select f.resource from leasehold.fences f
  where f.seen_at < coalesce(:now::timestamptz, now()) - :retention_ms::float8 * interval '1 ms' - interval '1 day'
  order by f.seen_at limit :limit::int for update skip locked
), gone as (
  delete from leasehold.fences f using old o where f.resource = o.resource returning 1
)
select count(*) as removed from gone;

-- name: archive_dead_letters
-- Locks the rows it moves, oldest first, with skip locked, by inbox_finished: dead letters that let their key go on and died longer ago than the queue keeps them.
-- nullable: now
-- row: removed bigint
with t as (
  select coalesce(:now::timestamptz, clock_timestamp()) as now, q.dead_letter_retention as kept, q.retention > interval '0' as archives
  from leasehold.queues q where q.name = 'inbox' and q.dead_letter_retention > interval '0'
), old as materialized (
  select j.id from leasehold.inbox j, t
  where j.finished_at < t.now - t.kept and j.finished_at is not null and j.status = 'dead_letter'
  order by j.finished_at, j.id limit :limit::int for update of j skip locked
), gone as (
  delete from leasehold.inbox j using old o where j.id = o.id and j.status = 'dead_letter' returning j.*
), archived as (
  insert into leasehold.inbox_archive (id, seq, lease_generation, available_at, created_at, claimed_at, finished_at, attempts,
    crashes, max_attempts, priority, partition_bucket, status, kind, partition_key, claimed_by, idempotency_key, last_error,
    headers, errors, payload)
  select g.id, g.seq, g.lease_generation, g.available_at, g.created_at, g.claimed_at, t.now,
    g.attempts, g.crashes, g.max_attempts, g.priority, g.partition_bucket, 'dead_letter', g.kind, g.partition_key, g.claimed_by,
    g.idempotency_key, g.last_error, g.headers, g.errors, g.payload
  from gone g, t where t.archives
)
select count(*) as removed from gone;

-- name: make_archive_days
-- Locks: the archive's parent and its rest for an instant (200 ms lock timeout inside), with at most 1 000 rows moved.
-- nullable: now
-- row: made int
select leasehold.make_archive_days('inbox', :days::int, :now::timestamptz) as made;

-- name: drop_archive_days
-- Locks: the archive's parent for an instant (200 ms lock timeout inside). One day a call.
-- nullable: now
-- row: dropped int
select leasehold.drop_archive_days('inbox', :now::timestamptz) as dropped;

-- name: count_stray_archived
-- Locks nothing: rows that went to the rest because their day was missing, and whether today's is still missing.
-- nullable: now
-- row: strays bigint, lacks_today boolean
select (select count(*) from (select 1 from leasehold.inbox_archive_rest limit :limit::int) s) as strays,
       to_regclass('leasehold.inbox' || to_char(coalesce(:now::timestamptz, now()) at time zone 'UTC', '"_a"YYYYMMDD')) is null as lacks_today;

-- name: take_sample
-- Locks the row it inserts and those it deletes: samples older than the limit given, by samples_pkey. Reads the hot table, or of a large one as many of its pages,
-- picked at random, as bytes are given: then counts are estimates, `share` tells of what part, and the oldest is not known. `recent` is what the workers said of their last minutes.
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
  'retrying', round(s.retrying / p.share), 'expired', round(s.expired / p.share), 'oldest_due_at', case when p.share = 1 then s.oldest_due_at end, 'share', p.share) || :recent::jsonb
from t, pages p, seen s on conflict do nothing;

-- name: trim_history
-- Locks the entries it deletes, oldest first, by history_pkey. See migration 0016.
-- nullable: now
-- row: removed bigint
select leasehold.trim_history(:now::timestamptz) as removed;
