-- title: Dead letters by key
-- when: Somebody asks what was lost for a customer, an order or a stream.
-- read: The fifty keys with the most dead letters. Counts the newest 10 000 dead letters in the queue. Where dead letters are parked (`onDeadLetter: "park"`), they hold their key and are found at the front of up to 100 000 keys. Those that
--   housekeeping has moved to the archive, after 30 days by default, are not counted.
-- column partition_key: the key
-- column dead_letters: how many it has
-- column parked: how many of them hold their key
-- column kinds: the kinds of these jobs
-- column first_at: when the first of them died
-- column last_at: when the last of them died
-- column sample_error: one of their errors, its first 200 characters
-- column sample_id: one of the jobs
-- column looked: how many dead letters were counted, of all groups
-- column is_all: false when there are more than were counted, so that groups are larger than shown
-- next: `leasehold jobs why inbox ID` (`queue.why(id)`) with sample_id says what happened to one. One key with many: its data is bad, or it comes after something that failed; repair, then `leasehold jobs redrive inbox --key KEY` (`queue.retry({ partitionKey })`), in order. Many
--   keys with one each: look by kind instead (dead-by-kind).
-- index: inbox_finished backwards, then inbox_pkey; parked ones by inbox_line, one probe for each key. Locks nothing.
with recursive queue as materialized (
  select q.on_dead_letter, q.buckets, 100000 / q.buckets as keys_max from leasehold.queues q where q.name = 'inbox'
), heads as (
  select b.bucket, 1 as n, q.keys_max, h.*
  from queue q cross join generate_series(0, q.buckets - 1) b(bucket) cross join lateral (
    select j.partition_key, j.id, j.status from leasehold.inbox j
    where j.in_line and j.partition_bucket = b.bucket order by j.partition_key, j.seq limit 1) h
  where q.on_dead_letter = 'park'
  union all
  select w.bucket, w.n + 1, w.keys_max, h.*
  from heads w cross join lateral (
    select j.partition_key, j.id, j.status from leasehold.inbox j
    where j.in_line and j.partition_bucket = w.bucket and j.partition_key > w.partition_key order by j.partition_key, j.seq limit 1) h
  where w.n < w.keys_max
), letters as materialized (
  (select j.id, j.finished_at as died_at from leasehold.inbox j where j.finished_at is not null order by j.finished_at desc, j.id desc limit 10000)
  union all
  (select h.id, null from heads h where h.status = 'dead_letter' limit 10000)
), looked as (
  select count(*) as looked, count(*) filter (where l.died_at is not null) < 10000 and count(*) filter (where l.died_at is null) < 10000
    and not exists (select 1 from heads h where h.n = h.keys_max) as is_all
  from letters l
)
select g.partition_key, g.dead_letters, g.parked, g.kinds, g.first_at, g.last_at, g.sample_error, g.sample_id, l.looked::int as looked, l.is_all
from looked l left join (
  select j.partition_key, count(*)::int as dead_letters, count(*) filter (where d.died_at is null)::int as parked, string_agg(distinct j.kind, ', ') as kinds,
         min(coalesce(d.died_at, (j.errors -> -1 ->> 'at')::timestamptz)) as first_at, max(coalesce(d.died_at, (j.errors -> -1 ->> 'at')::timestamptz)) as last_at, left(min(j.last_error), 200) as sample_error, min(j.id::text) as sample_id
  from letters d cross join lateral (select * from leasehold.inbox i where i.id = d.id limit 1) j group by j.partition_key) g on true
where g.partition_key is not null or not l.is_all
order by g.dead_letters desc, g.last_at desc, g.partition_key limit 50;
