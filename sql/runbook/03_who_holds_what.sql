-- title: Who holds what
-- when: Work is claimed and does not finish, one worker seems to have everything, or you want to know whom a restart would interrupt.
-- read: One line for each worker that holds rows or is registered for the queue and not gone, most rows first. Rows in process are found at the front: with order "key" the first 100 rows of up to 100 000 keys, spread over the buckets; with order "none" the first 250 rows of each bucket. One
--   that an earlier row of its key, committed late, stands before is not found.
-- column worker: its id
-- column state: alive, draining, dead, left, not seen (for its TTL, and not marked yet), or empty when it is not registered
-- column rows_held: rows in process under its name
-- column keys_held: how many keys these belong to
-- column oldest_claim_s: seconds since the claim of the row that it has held for the longest
-- column next_lease_end_s: seconds until the first of its leases ends; below 0 when one has
-- column expired: how many of its leases have ended
-- column is_failing: true when its claims or settles of this queue always fail, so that it owns no bucket
-- column last_seen_s: seconds since its last heartbeat
-- column looked: how many keys (order "none": rows) were looked at
-- column is_all: false when there are more than were looked at, so that a row may be missing
-- next: oldest_claim_s far above the time of a handler: a handler hangs; held-by shows its rows. Rows of a dead worker go to others with the next claim of their buckets: look again. A worker
--   that is alive and holds nothing while work is due: is_failing, or its handlers lack the kind (`leasehold workers --json`, or `lh.workers()`).
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
), by_worker as (
  select k.claimed_by, sum(k.rows_held)::int as rows_held, count(*)::int as keys_held, min(k.claimed_at) as claimed_at,
         min(k.lease_expires_at) as lease_expires_at, sum(k.expired)::int as expired
  from (
    select j.claimed_by, j.partition_key, count(*) as rows_held, min(j.claimed_at) as claimed_at, min(j.lease_expires_at) as lease_expires_at,
           count(*) filter (where j.lease_expires_at <= now()) as expired
    from held h cross join lateral (select * from leasehold.inbox i where i.id = h.id limit 1) j group by j.claimed_by, j.partition_key) k
  group by k.claimed_by
)
select coalesce(b.claimed_by, w.id) as worker, case when w.left_at is not null then 'left' when w.status <> 'dead' and w.last_seen_at + w.ttl <= now() then 'not seen' else w.status end as state,
       coalesce(b.rows_held, 0) as rows_held, coalesce(b.keys_held, 0) as keys_held, extract(epoch from now() - b.claimed_at)::int as oldest_claim_s,
       extract(epoch from b.lease_expires_at - now())::int as next_lease_end_s, coalesce(b.expired, 0) as expired, w.failing ? 'inbox' as is_failing,
       extract(epoch from now() - w.last_seen_at)::int as last_seen_s, l.looked::int as looked, l.is_all
from looked l cross join (by_worker b full join leasehold.workers w on w.id = b.claimed_by)
where b.claimed_by is not null or (w.status <> 'dead' and 'inbox' = any(w.queues))
order by rows_held desc, worker limit 200;
