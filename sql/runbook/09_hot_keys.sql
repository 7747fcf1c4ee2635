-- title: Skew: hottest keys
-- when: One tenant or entity dominates the queue, or skewed-buckets shows a bucket with one large key.
-- read: The twenty keys with the most rows in line. Estimated from pages picked at random, 32 MB of them; exact when the table is smaller (share is 1). A key runs on one worker, one row at a
--   time, so its rate is 1 / the time of its handler, whatever the number of workers.
-- column partition_key: the key
-- column rows_in_line: its rows, pending, in process or parked, estimated
-- column counted: the same counted up to 10 000 by the index; empty with order "none", which has no index by key
-- column percent: of all rows in line
-- column bucket: its bucket
-- column head_status: the status of its first row; empty with order "none"
-- column held_by: who holds its first row
-- column oldest_s: seconds since its first row was created
-- column share: which part of the table was read
-- next: Split the key where order over all of it is not needed: `shardKey(key, orderId)` makes one of `tenant:123#shard-0` to `#shard-7`. Make the handler faster, because nothing else makes one key faster. Rows that
--   can be dropped: `leasehold jobs discard inbox --status pending --key KEY` (`queue.discard({ status: "pending", partitionKey })`; without the status that call takes scheduled ones and dead letters too).
-- index: none; a sample of pages bounds it (tablesample system). Then inbox_line for the keys shown, at most 10 000 rows each. Locks nothing.
with pages as materialized (
  select least(1, 33554432.0 / greatest(1, pg_relation_size('leasehold.inbox'))) as share
), by_key as materialized (
  select j.partition_bucket as bucket, j.partition_key, count(*) as n, min(j.created_at) as created_at
  from leasehold.inbox j tablesample system ((select 100 * p.share from pages p)) where j.in_line group by j.partition_bucket, j.partition_key
), largest as (
  select k.* from by_key k order by k.n desc, k.partition_key limit 20
), total as (
  select sum(k.n) as n from by_key k
)
select k.partition_key, round(k.n / p.share)::bigint as rows_in_line, case q."order" when 'key' then c.n end as counted, round(100 * k.n / t.n, 1)::float8 as percent, k.bucket,
       h.status as head_status, h.claimed_by as held_by, extract(epoch from now() - coalesce(h.created_at, k.created_at))::int as oldest_s, round(p.share::numeric, 4)::float8 as share
from largest k cross join pages p cross join total t join leasehold.queues q on q.name = 'inbox'
left join lateral (
  select count(*)::int as n from (
    select 1 from leasehold.inbox j
    where q."order" = 'key' and j.in_line and j.partition_bucket = k.bucket and j.partition_key = k.partition_key limit 10000) r) c on true
left join lateral (
  select j.status, j.claimed_by, j.created_at from leasehold.inbox j
  where q."order" = 'key' and j.in_line and j.partition_bucket = k.bucket and j.partition_key = k.partition_key order by j.seq limit 1) h on true
order by k.n desc, k.partition_key;
