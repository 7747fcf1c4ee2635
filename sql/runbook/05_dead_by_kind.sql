-- title: Dead letters by kind and error
-- when: Dead letters grow: is it one cause or many, and since when?
-- read: The fifty largest groups of dead letters with the same kind and error. Numbers and hexadecimal texts of eight digits or more count as equal, so that ids do not make groups. Counts the newest 10 000 dead letters in the queue. Where dead letters are parked (`onDeadLetter: "park"`), they hold their key and are found at the front of up to 100 000 keys. Those that
--   housekeeping has moved to the archive, after 30 days by default, are not counted.
-- column kind: the kind of the jobs
-- column error: the first line of their error, its first 120 characters, with # for what differs
-- column dead_letters: how many there are
-- column parked: how many of them hold their key
-- column keys: how many keys they belong to
-- column first_at: when the first of them died
-- column last_at: when the last of them died
-- column crashes: how many died because they crashed their worker at least once
-- column sample_id: one of the jobs
-- column looked: how many dead letters were counted, of all groups
-- column is_all: false when there are more than were counted, so that groups are larger than shown
-- next: last_at is minutes ago and the group grows: stop the cause first (`leasehold queues pause inbox`, or `queue.pause()`, while you repair). Then `leasehold jobs redrive inbox --kind KIND`
--   (`queue.retry({ kind })`), in order and in batches, or `leasehold jobs discard inbox --kind KIND` (`queue.discard({ status: "dead_letter", kind })`; without the status that call takes jobs that wait too).
--   crashes above 0: the job may take its worker with it; try one with `leasehold jobs redrive inbox ID` (`queue.retry({ ids: [sample_id] })`) before all.
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
), texts as (
  select j.kind, left(regexp_replace(split_part(coalesce(j.last_error, 'no error stored'), chr(10), 1), '[0-9a-fA-F]{8,}|[0-9]+', '#', 'g'), 120) as error,
         d.died_at is null as is_parked, coalesce(d.died_at, (j.errors -> -1 ->> 'at')::timestamptz) as died_at, j.partition_key, j.crashes, j.id
  from letters d cross join lateral (select * from leasehold.inbox i where i.id = d.id limit 1) j
), by_key as (
  select t.kind, t.error, t.partition_key, count(*) as dead_letters, count(*) filter (where t.is_parked) as parked, count(*) filter (where t.crashes > 0) as crashes,
         min(t.died_at) as first_at, max(t.died_at) as last_at, min(t.id::text) as sample_id
  from texts t group by t.kind, t.error, t.partition_key
)
select g.kind, g.error, g.dead_letters, g.parked, g.keys, g.first_at, g.last_at, g.crashes, g.sample_id, l.looked::int as looked, l.is_all
from looked l left join (
  select k.kind, k.error, sum(k.dead_letters)::int as dead_letters, sum(k.parked)::int as parked, count(*)::int as keys, min(k.first_at) as first_at, max(k.last_at) as last_at,
         sum(k.crashes)::int as crashes, min(k.sample_id) as sample_id
  from by_key k group by k.kind, k.error) g on true
where g.kind is not null or not l.is_all
order by g.dead_letters desc, g.last_at desc, g.kind, g.error limit 50;
