-- The promises, asked of the rows of a running queue. Each answer is a row that breaks a rule; none is the good answer.

-- name: audit_rows
-- Locks nothing. One pass over the queue's table for what a row says about itself, and the days of the archive that have the last ten minutes in them.
-- `late_ms`: how long after its time a takeover may be outstanding while a worker is alive. In a queue without order lost rows are found in their turn,
-- behind more urgent ones, so there it is asked only of rows that nothing due stands before.
-- nullable: now
-- row: rule text, id uuid, partition_key text, seq bigint, detail text, total bigint
with t as materialized (
  select coalesce(:now::timestamptz, clock_timestamp()) as now, :late_ms::float8 * interval '1 ms' as late
), queue as materialized (
  select q.on_dead_letter, q."order", q.paused_at is null and exists (
    select 1 from leasehold.workers w cross join t where w.status = 'alive' and 'inbox' = any(w.queues) and w.last_seen_at + w.ttl > t.now
      and w.started_at < t.now - t.late) as is_worked_on
  from leasehold.queues q where q.name = 'inbox'
), drawn as materialized (
  select case when s.is_called then s.last_value else s.last_value - 1 end as token from leasehold.lease_tokens s
), odd as materialized (
  select j.id, j.partition_key, j.partition_bucket, j.seq, j.priority, j.available_at, j.status, j.claimed_by, j.lease_generation, j.lease_expires_at, j.attempts, j.crashes, j.max_attempts, j.finished_at
  from leasehold.inbox j
  where j.status = 'processing' or j.claimed_by is not null or j.lease_expires_at is not null or j.attempts - j.crashes > j.max_attempts or j.crashes > j.attempts
     or j.lease_generation > (select d.token from drawn d) or (j.finished_at is not null) <> (j.status = 'dead_letter' and (select q.on_dead_letter = 'continue' from queue q))
), late as materialized (
  select o.id, o.partition_key, o.seq, o.claimed_by, o.lease_expires_at, t.now - t.late as by_now
  from odd o cross join t cross join queue q
  where o.status = 'processing' and q.is_worked_on and (q."order" = 'key' or not exists (
    select 1 from leasehold.inbox e where e.in_line and e.partition_bucket = o.partition_bucket and e.status = 'pending'
      and (e.priority, e.available_at, e.seq) < (o.priority, o.available_at, o.seq)))
), broken as (
  select 'holder' as rule, o.id, o.partition_key, o.seq, format('status %s, held by %s, lease until %s', o.status, coalesce(o.claimed_by, 'nobody'), o.lease_expires_at) as detail
  from odd o where case when o.status = 'processing' then o.claimed_by is null or o.lease_expires_at is null
                        else o.claimed_by is not null or o.lease_expires_at is not null end
  union all
  select 'attempts', o.id, o.partition_key, o.seq, format('%s attempts, %s of them crashes, of %s for errors', o.attempts, o.crashes, o.max_attempts)
  from odd o where o.attempts - o.crashes > o.max_attempts or o.crashes > o.attempts
  union all
  select 'finished', o.id, o.partition_key, o.seq, format('status %s, finished at %s', o.status, coalesce(o.finished_at::text, 'no time'))
  from odd o cross join queue q where (o.finished_at is not null) <> (o.status = 'dead_letter' and q.on_dead_letter = 'continue')
  union all
  select 'token', o.id, o.partition_key, o.seq, format('token %s, the last one drawn is %s', o.lease_generation, d.token)
  from odd o cross join drawn d where o.lease_generation > d.token
  union all
  select 'expired', o.id, o.partition_key, o.seq, format('held by %s, whose lease ran out at %s', o.claimed_by, o.lease_expires_at)
  from late o where o.lease_expires_at < o.by_now
  union all
  select 'dead holder', o.id, o.partition_key, o.seq, format('held by %s, which is dead and was last seen at %s', o.claimed_by, w.last_seen_at)
  from late o join leasehold.workers w on w.id = o.claimed_by
  where o.lease_expires_at >= o.by_now and w.status = 'dead' and w.left_at is null and w.last_seen_at + w.ttl < o.by_now
  union all
  select 'two lives', a.id, a.partition_key, a.seq, format('status %s, and %s at %s in the archive', j.status, a.status, a.finished_at)
  from leasehold.inbox_archive a join leasehold.inbox j on j.id = a.id
  where a.finished_at > coalesce(:now::timestamptz, now()) - interval '10 minutes'
), numbered as (
  select b.*, count(*) over (partition by b.rule) as total, row_number() over (partition by b.rule order by b.seq, b.id) as n from broken b
)
select n.rule, n.id, n.partition_key, n.seq, n.detail, n.total from numbered n where n.n <= :limit::int order by n.rule, n.n;

-- name: audit_order
-- Locks nothing. For queues with order: key. Rows in process by one pass over the queue's table, what stands before them by inbox_line.
-- Rows that committed late, or were redriven, may stand before a row in process in a queue that is not strict; in a strict one they may not.
-- row: rule text, id uuid, partition_key text, seq bigint, detail text, total bigint
with queue as materialized (
  select q.is_strict from leasehold.queues q where q.name = 'inbox'
), working as materialized (
  select j.id, j.partition_key, j.partition_bucket, j.seq, j.claimed_by, j.lease_generation from leasehold.inbox j where j.status = 'processing'
), broken as (
  select 'two holders' as rule, w.id, w.partition_key, w.seq, format('held by %s under token %s, while others of its key are held by somebody else', w.claimed_by, w.lease_generation) as detail
  from working w where exists (select 1 from working o where o.partition_key = w.partition_key and o.claimed_by <> w.claimed_by)
  union all
  select 'overtaken', e.id, w.partition_key, e.seq, format('waits, while #%s of its key is in process by %s', w.seq, w.claimed_by)
  from working w cross join queue q cross join lateral (
    select j.id, j.seq from leasehold.inbox j
    where j.in_line and j.partition_bucket = w.partition_bucket and j.partition_key = w.partition_key and j.seq < w.seq
      and (j.status <> 'processing' or j.claimed_by <> w.claimed_by)
    order by j.seq limit 1) e
  where q.is_strict
), numbered as (
  select b.*, count(*) over (partition by b.rule) as total, row_number() over (partition by b.rule order by b.seq, b.id) as n from broken b
)
select n.rule, n.id, n.partition_key, n.seq, n.detail, n.total from numbered n where n.n <= :limit::int order by n.rule, n.n;

-- name: audit_due
-- Locks nothing. The first row in line of each bucket, where it has been due for `late_ms`: one probe of inbox_line for each bucket.
-- nullable: now
-- row: bucket int, id uuid, partition_key text, seq bigint
select b.bucket, j.id, j.partition_key, j.seq
from leasehold.queues q cross join lateral generate_series(0, q.buckets - 1) b(bucket) cross join lateral (
  (select i.id, i.partition_key, i.seq, i.status, i.available_at from leasehold.inbox i
   where q."order" = 'key' and i.in_line and i.partition_bucket = b.bucket order by i.partition_key, i.seq limit 1)
  union all
  (select i.id, i.partition_key, i.seq, i.status, i.available_at from leasehold.inbox i
   where q."order" = 'none' and i.in_line and i.partition_bucket = b.bucket order by i.priority, i.available_at, i.seq limit 1)) j
where q.name = 'inbox' and q.paused_at is null and j.status = 'pending'
  and j.available_at < coalesce(:now::timestamptz, clock_timestamp()) - :late_ms::float8 * interval '1 ms'
order by b.bucket;

-- name: find_bucket_locks
-- Locks nothing. Sessions that hold the locks of these buckets without doing anything: a claim has them in its transaction, for milliseconds. What sessions of other roles do is only shown to
-- members of pg_read_all_stats; others see none here. The first half of a lock's key is leasehold.lock_class(), which viewers may not call.
-- nullable: now
-- row: bucket int, pid int, role text?, application text?
select l.objid::int as bucket, l.pid, a.usename::text as role, a.application_name as application
from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
  and l.classid::bigint = (('leasehold.inbox'::regclass::oid::bigint - 2147483648) & 4294967295) and l.objid::bigint = any(:buckets::int[])
  and (a.state = 'idle' or (a.state like 'idle in transaction%' and a.state_change < coalesce(:now::timestamptz, clock_timestamp()) - :late_ms::float8 * interval '1 ms'))
order by 1, 2;
