-- title: What one worker holds
-- when: who-holds-what shows a worker with old claims: what is it doing?
-- read: Up to 200 rows that the worker has in process, the oldest claim first. It runs one row of a key at a time; rows of a key behind the first have not started. Rows in process are found at the front: with order "key" the first 100 rows of up to 100 000 keys, spread over the buckets; with order "none" the first 250 rows of each bucket. One
--   that an earlier row of its key, committed late, stands before is not found.
-- parameter worker: the worker's id
-- column claimed_s: seconds since the claim
-- column lease_end_s: seconds until the lease ends; below 0 when it has
-- column id: the job
-- column partition_key: its key
-- column kind: its kind
-- column place: its place among the rows of the key that the worker holds; with order "key" only 1 can have started
-- column attempts: attempts so far, this one included
-- column crashes: attempts that ended with the worker
-- column lease_generation: the fence token of the claim
-- column looked: how many keys (order "none": rows) were looked at
-- column is_all: false when there are more than were looked at, so that a row may be missing
-- next: The same kind on top each time: its handler hangs or waits for something; give it a timeout (`handlerTimeoutMs`). To move the work now, evict the worker (`leasehold workers evict ID`, or `lh.evict(id)`): others take its rows
--   over, and what it still tries to settle changes nothing.
-- index: inbox_line, one probe for each key (order "none": the front of each bucket), then inbox_pkey for the rows found. Locks nothing.
\set worker 'host-4821'
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
select extract(epoch from now() - j.claimed_at)::int as claimed_s, extract(epoch from j.lease_expires_at - now())::int as lease_end_s, j.id, j.partition_key, j.kind,
       case when j.id is not null then (row_number() over (partition by j.partition_key order by j.seq))::int end as place, j.attempts, j.crashes, j.lease_generation, l.looked::int as looked, l.is_all
from looked l left join (held h cross join lateral (select * from leasehold.inbox i where i.id = h.id limit 1) j) on j.claimed_by = :'worker'
where j.id is not null or not l.is_all
order by j.claimed_at, j.seq limit 200;
