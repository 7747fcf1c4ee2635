-- title: Oldest due work
-- when: Users wait, or the lag alert fires: is the queue late, by how much, and with which jobs?
-- read: The twenty jobs that have been due for the longest, oldest first. No row means that nothing is due. A row that could not run yet because another one of its key stands
--   before it counts as due, because its user waits all the same. Looks at up to 100 000 keys, spread over the buckets; with order "none" at the first
--   250 rows of each of up to 100 priorities of a bucket. One row without an id means that nothing was found among those looked at.
-- column due_s: seconds since the job could have run: the lag that its user feels
-- column available_at: since when it is due
-- column id: the job
-- column partition_key: its key
-- column kind: its kind
-- column status: pending, or scheduled when no claim has promoted it yet
-- column attempts: attempts so far
-- column bucket: the bucket of its key
-- column head_status: what stands before it in the line of its key: processing, pending (waits for its backoff) or dead_letter (parked); empty when nothing does
-- column looked: how many keys (order "none": priorities, of all buckets together) were looked at
-- column is_all: false when there is more than was looked at, so an older job may exist
-- next: head_status is empty and due_s grows: nobody claims, or too slowly. Run who-holds-what and see whether the workers are busy. head_status is processing: who-holds-what shows
--   since when. It is pending or dead_letter: blocked-keys. Status scheduled and long overdue: no worker claims from this bucket, see `leasehold ring inbox` (`lh.ring(queue)`).
-- index: inbox_line, one probe for each key (order "none": for each bucket and priority), and inbox_scheduled, one for each bucket. Locks nothing.
with recursive queue as materialized (
  select q."order", q.buckets, 100000 / q.buckets as keys_max from leasehold.queues q where q.name = 'inbox'
), heads as (
  select b.bucket, 1 as n, q.keys_max, h.*
  from queue q cross join generate_series(0, q.buckets - 1) b(bucket) cross join lateral (
    select j.partition_key, j.id, j.seq, j.status, j.available_at from leasehold.inbox j
    where j.in_line and j.partition_bucket = b.bucket order by j.partition_key, j.seq limit 1) h
  where q."order" = 'key'
  union all
  select w.bucket, w.n + 1, w.keys_max, h.*
  from heads w cross join lateral (
    select j.partition_key, j.id, j.seq, j.status, j.available_at from leasehold.inbox j
    where j.in_line and j.partition_bucket = w.bucket and j.partition_key > w.partition_key order by j.partition_key, j.seq limit 1) h
  where w.n < w.keys_max
), priorities as (
  select b.bucket, 1 as n, p.priority
  from queue q cross join generate_series(0, q.buckets - 1) b(bucket) cross join lateral (
    select j.priority from leasehold.inbox j
    where j.in_line and j.partition_bucket = b.bucket order by j.priority, j.available_at, j.seq limit 1) p
  where q."order" = 'none'
  union all
  select w.bucket, w.n + 1, p.priority
  from priorities w cross join lateral (
    select j.priority from leasehold.inbox j
    where j.in_line and j.partition_bucket = w.bucket and j.priority > w.priority order by j.priority, j.available_at, j.seq limit 1) p
  where w.n < 100
), fronts as materialized ( -- the first row of each priority that waits; is_cut: the first 250 are all in process, and there are more
  select d.id, d.available_at, d.id is null and exists (
    select 1 from leasehold.inbox j where j.in_line and j.partition_bucket = p.bucket and j.priority = p.priority order by j.available_at, j.seq offset 250) as is_cut
  from priorities p left join lateral (
    select r.id, r.available_at from (
      select j.id, j.seq, j.status, j.available_at from leasehold.inbox j
      where j.in_line and j.partition_bucket = p.bucket and j.priority = p.priority order by j.available_at, j.seq limit 250) r
    where r.status = 'pending' order by r.available_at, r.seq limit 1) d on true
), found as (
  select h.id, h.available_at, null::text as head_status from heads h where h.status = 'pending' and h.available_at <= now()
  union all
  select d.id, d.available_at, h.status from heads h cross join lateral ( -- the head can't run: the first row behind it that is due
    select r.id, r.available_at from (
      select j.id, j.seq, j.status, j.available_at from leasehold.inbox j
      where j.in_line and j.partition_bucket = h.bucket and j.partition_key = h.partition_key and j.seq > h.seq order by j.seq limit 100) r
    where r.status = 'pending' and r.available_at <= now() order by r.seq limit 1) d
  where h.status <> 'pending' or h.available_at > now()
  union all
  select f.id, f.available_at, null from fronts f where f.id is not null
  union all
  select d.id, d.available_at, null from queue q cross join generate_series(0, q.buckets - 1) b(bucket) cross join lateral (
    select j.id, j.available_at from leasehold.inbox j
    where not j.in_line and j.finished_at is null and j.partition_bucket = b.bucket order by j.available_at, j.seq limit 1) d
  where d.available_at <= now()
), oldest as (
  select f.id, f.head_status from found f order by f.available_at limit 20
), looked as (
  select (select count(*) from heads) + (select count(*) from priorities) as looked,
         not exists (select 1 from heads h where h.n = h.keys_max) and not exists (select 1 from priorities p where p.n = 100)
         and not exists (select 1 from fronts f where f.is_cut) as is_all
)
select extract(epoch from now() - j.available_at)::int as due_s, j.available_at, j.id, j.partition_key, j.kind, j.status, j.attempts,
       j.partition_bucket as bucket, f.head_status, l.looked::int as looked, l.is_all
from looked l left join (oldest f cross join lateral (select * from leasehold.inbox i where i.id = f.id limit 1) j) on true
where j.id is not null or not l.is_all
order by j.available_at, j.seq;
