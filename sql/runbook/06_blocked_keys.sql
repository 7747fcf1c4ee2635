-- title: Blocked keys, and by which row
-- when: Jobs of some keys do not run although workers have room, or a user says that "nothing happens for my order".
-- read: Keys whose first row can't run: it waits for its backoff, is parked as a dead letter, or is in process beyond its lease. Rows behind it wait for it. Of all such keys the 200 that have
--   waited for the longest are counted, the longest lines first. Looks at up to 100 000 keys, spread over the buckets. Empty for a queue with order "none", which has no lines.
-- column partition_key: the key
-- column behind: rows that wait behind the first one, counted up to 1 000
-- column why: backoff, parked, or lease expired
-- column until: when the first row may run again (backoff), or since when its lease has ended; empty when it is parked and a person has to act
-- column head_id: the row that blocks
-- column head_kind: its kind
-- column attempts: its attempts so far
-- column max_attempts: how many it has
-- column claimed_by: who holds it, when it is in process
-- column waiting_s: seconds since the first row was created
-- column last_error: what its last attempt said, its first 200 characters
-- column looked: how many keys were looked at
-- column is_all: false when there are more keys than were looked at, so that a blocked one may be missing
-- next: parked: repair the cause, then `leasehold jobs redrive inbox ID` with head_id (`queue.retry({ ids: [head_id] })`), or `leasehold jobs discard inbox ID` (`queue.discard({ ids: [head_id] })`) to let the key go on without it. backoff: it runs again by itself;
--   the same redrive makes it due now. The same error in many keys: something downstream is out, see dead-by-kind. lease expired: see expired-leases.
-- index: inbox_line: one probe for each key, then at most 1 001 rows of each of 200 lines. Locks nothing.
with recursive queue as materialized (
  select q."order", q.buckets, 100000 / q.buckets as keys_max from leasehold.queues q where q.name = 'inbox'
), heads as (
  select b.bucket, 1 as n, q.keys_max, h.*
  from queue q cross join generate_series(0, q.buckets - 1) b(bucket) cross join lateral (
    select j.partition_key, j.id, j.seq, j.status, j.available_at, j.created_at, j.lease_expires_at from leasehold.inbox j
    where j.in_line and j.partition_bucket = b.bucket order by j.partition_key, j.seq limit 1) h
  where q."order" = 'key'
  union all
  select w.bucket, w.n + 1, w.keys_max, h.*
  from heads w cross join lateral (
    select j.partition_key, j.id, j.seq, j.status, j.available_at, j.created_at, j.lease_expires_at from leasehold.inbox j
    where j.in_line and j.partition_bucket = w.bucket and j.partition_key > w.partition_key order by j.partition_key, j.seq limit 1) h
  where w.n < w.keys_max
), blocked as (
  select h.* from heads h
  where h.status = 'dead_letter' or h.status = 'pending' and h.available_at > now() or h.status = 'processing' and h.lease_expires_at <= now()
  order by h.created_at limit 200
), looked as (
  select count(*) as looked, count(*) filter (where h.n = h.keys_max) = 0 as is_all from heads h
)
select b.partition_key, c.behind, case b.status when 'dead_letter' then 'parked' when 'pending' then 'backoff' when 'processing' then 'lease expired' end as why,
       case b.status when 'pending' then b.available_at when 'processing' then b.lease_expires_at end as until,
       j.id as head_id, j.kind as head_kind, j.attempts, j.max_attempts, j.claimed_by, extract(epoch from now() - b.created_at)::int as waiting_s,
       left(j.last_error, 200) as last_error, l.looked::int as looked, l.is_all
from looked l left join (blocked b cross join lateral (select * from leasehold.inbox i where i.id = b.id limit 1) j) on true left join lateral (
  select count(*)::int as behind from (
    select 1 from leasehold.inbox r
    where r.in_line and r.partition_bucket = b.bucket and r.partition_key = b.partition_key and r.seq > b.seq limit 1000) r) c on b.id is not null
where b.id is not null or not l.is_all
order by c.behind desc, b.created_at limit 50;
