-- title: In process beyond the lease
-- when: Jobs look stuck in process, or `stats().expired` is above 0.
-- read: The fifty rows whose lease ran out the longest ago. A few seconds are normal: the next claim of the bucket takes the row over. No row means that none is late, while one row
--   without an id means that none was found among those looked at. Rows in process are found at the front: with order "key" the first 100 rows of up to 100 000 keys, spread over the buckets; with order "none" the first 250 rows of each bucket. One
--   that an earlier row of its key, committed late, stands before is not found.
-- column expired_s: seconds since the lease ended
-- column lease_expires_at: when it ended
-- column id: the job
-- column partition_key: its key
-- column kind: its kind
-- column bucket: the bucket of its key
-- column claimed_by: the worker that holds it
-- column worker_state: alive, draining, dead, left, not seen (for its TTL, and not marked yet), or empty when it is not registered
-- column claimed_s: seconds since the claim
-- column attempts: attempts so far, this one included
-- column crashes: attempts that ended with the worker
-- column last_error: what the attempt before said, its first 200 characters
-- column looked: how many keys (order "none": rows) were looked at
-- column is_all: false when there are more than were looked at, so that a row may be missing
-- next: More than a minute late: nobody claims from that bucket. Is the queue paused, and who owns the bucket (`leasehold ring inbox`, or `lh.ring(queue)`)? A worker that is alive and late does not renew: its process
--   is frozen or its connection is gone. Evict it (`leasehold workers evict ID`, or `lh.evict(id)`); what it still tries to settle changes nothing.
-- index: inbox_line, one probe for each key (order "none": the front of each bucket), then inbox_pkey for the rows found. Locks nothing.
with recursive queue as materialized (
  select q."order", q.buckets, 100000 / q.buckets as keys_max from leasehold.queues q where q.name = 'inbox'
), heads as (
  select b.bucket, 1 as n, q.keys_max, h.*
  from queue q cross join generate_series(0, q.buckets - 1) b(bucket) cross join lateral (
    select j.partition_key, j.status from leasehold.inbox j
    where j.in_line and j.partition_bucket = b.bucket order by j.partition_key, j.seq limit 1) h
  where q."order" = 'key'
  union all
  select w.bucket, w.n + 1, w.keys_max, h.*
  from heads w cross join lateral (
    select j.partition_key, j.status from leasehold.inbox j
    where j.in_line and j.partition_bucket = w.bucket and j.partition_key > w.partition_key order by j.partition_key, j.seq limit 1) h
  where w.n < w.keys_max
), fronts as (
  select r.* from queue q cross join generate_series(0, q.buckets - 1) b(bucket) cross join lateral (
    select j.id, j.status, b.bucket from leasehold.inbox j
    where j.in_line and j.partition_bucket = b.bucket order by j.priority, j.available_at, j.seq limit 250) r
  where q."order" = 'none'
), held as materialized (
  select r.id from heads h cross join lateral (
    select j.id, j.status from leasehold.inbox j
    where j.in_line and j.partition_bucket = h.bucket and j.partition_key = h.partition_key order by j.seq limit 100) r
  where h.status = 'processing' and r.status = 'processing'
  union all
  select f.id from fronts f where f.status = 'processing'
), looked as (
  select (select count(*) from heads) + (select count(*) from fronts) as looked,
         not exists (select 1 from heads h where h.n = h.keys_max) and not exists (select 1 from fronts f group by f.bucket having count(*) = 250) as is_all
)
select extract(epoch from now() - j.lease_expires_at)::int as expired_s, j.lease_expires_at, j.id, j.partition_key, j.kind, j.partition_bucket as bucket, j.claimed_by,
       case when w.left_at is not null then 'left' when w.status <> 'dead' and w.last_seen_at + w.ttl <= now() then 'not seen' else w.status end as worker_state,
       extract(epoch from now() - j.claimed_at)::int as claimed_s, j.attempts, j.crashes, left(j.last_error, 200) as last_error, l.looked::int as looked, l.is_all
from looked l left join (
  held h cross join lateral (select * from leasehold.inbox i where i.id = h.id limit 1) j left join leasehold.workers w on w.id = j.claimed_by) on j.lease_expires_at <= now()
where j.id is not null or not l.is_all
order by j.lease_expires_at, j.id limit 50;
