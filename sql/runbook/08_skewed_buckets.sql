-- title: Skew: rows in each bucket
-- when: Some workers are busy and others idle while work is due.
-- read: The twenty buckets with the most rows in line. Estimated from pages picked at random, 32 MB of them; exact when the table is smaller (share is 1). Even keys give times_average near 1;
--   one worker owns a bucket at a time, so a bucket far above that keeps its owner busy alone.
-- column bucket: the bucket
-- column rows_in_line: its rows, pending, in process or parked
-- column percent: of all rows in line
-- column times_average: how many times the average of all buckets
-- column keys_seen: keys of the bucket in the pages read
-- column largest_key: the key with the most rows in it
-- column largest_key_percent: that key's part of the bucket
-- column held_by: who holds the first row of that key (order "none": of the bucket) now; the owner, while it works
-- column share: which part of the table was read
-- next: largest_key_percent is high: one key is hot, see hot-keys. It is low and times_average high: too few buckets for so many keys, or very uneven keys; the number of buckets is fixed when a queue is
--   created, so make a new one with more. `leasehold ring inbox` (`lh.ring(queue)`) shows the owner of each bucket.
-- index: none; a sample of pages bounds it (tablesample system). Then inbox_line, one probe for each bucket shown. Locks nothing.
with pages as materialized (
  select least(1, 33554432.0 / greatest(1, pg_relation_size('leasehold.inbox'))) as share
), by_key as materialized (
  select j.partition_bucket as bucket, j.partition_key, count(*) as n
  from leasehold.inbox j tablesample system ((select 100 * p.share from pages p)) where j.in_line group by j.partition_bucket, j.partition_key
), by_bucket as (
  select k.bucket, sum(k.n) as n, count(*) as keys, max(k.n) as largest from by_key k group by k.bucket order by sum(k.n) desc, k.bucket limit 20
), total as (
  select sum(k.n) as n from by_key k
)
select b.bucket, round(b.n / p.share)::bigint as rows_in_line, round(100 * b.n / t.n, 1)::float8 as percent, round(b.n * q.buckets / t.n, 1)::float8 as times_average,
       b.keys::int as keys_seen, k.partition_key as largest_key, round(100.0 * b.largest / b.n, 1)::float8 as largest_key_percent,
       coalesce(h.claimed_by, f.claimed_by) as held_by, round(p.share::numeric, 4)::float8 as share
from by_bucket b cross join pages p cross join total t join leasehold.queues q on q.name = 'inbox'
cross join lateral (
  select k.partition_key from by_key k where k.bucket = b.bucket and k.n = b.largest order by k.partition_key limit 1) k
left join lateral (
  select j.claimed_by from leasehold.inbox j
  where q."order" = 'key' and j.in_line and j.partition_bucket = b.bucket and j.partition_key = k.partition_key order by j.seq limit 1) h on true
left join lateral (
  select j.claimed_by from leasehold.inbox j
  where q."order" = 'none' and j.in_line and j.partition_bucket = b.bucket order by j.priority, j.available_at, j.seq limit 1) f on true
order by b.n desc, b.bucket;
