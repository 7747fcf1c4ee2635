-- title: The archive by day
-- when: The disk fills, or you want to know what a longer retention would cost.
-- read: One line for each day of the archive that has rows or is over, newest first, then the rest: rows whose day was missing. Rows are the server's estimate, which analyze keeps.
-- column day: the UTC day in which the jobs finished, or rest
-- column rows_estimated: rows; empty when the server has not counted them yet
-- column total_bytes: size with indexes and TOAST
-- column percent: of the whole archive
-- column drops_at: when housekeeping may drop the day; empty for the rest, which is deleted row by row
-- next: `leasehold queues change inbox --retention 14d` (`queue.change({ retentionMs })`) sets how long days are kept; the next housekeeping applies it. A drops_at that is over for more than a minute: no housekeeping runs (`lh.housekeep()`), or a long query
--   reads the archive. A rest with rows: no housekeeping ran for a week. Rows of far more than 2 kB: payloads are large; store a reference instead.
-- index: none; reads sizes and statistics of the partitions, never their rows.
select coalesce(d.day::text, 'rest') as day, d.rows_estimated, d.total_bytes, round(100.0 * d.total_bytes / nullif(sum(d.total_bytes) over (), 0), 1)::float8 as percent,
       (d.day + 1)::timestamp at time zone 'UTC' + q.retention as drops_at
from (
  select case when right(c.relname, 10) ~ '^_a[0-9]{8}$' then to_date(right(c.relname, 8), 'YYYYMMDD') end as day,
         coalesce(nullif(c.reltuples, -1)::bigint, nullif(s.n_live_tup, 0)) as rows_estimated, pg_total_relation_size(c.oid) as total_bytes, pg_relation_size(c.oid) as heap_bytes
  from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid left join pg_catalog.pg_stat_user_tables s on s.relid = c.oid
  where i.inhparent = to_regclass('leasehold.inbox_archive')) d
join leasehold.queues q on q.name = 'inbox'
where d.heap_bytes > 0 or d.day < (now() at time zone 'UTC')::date
order by d.day desc nulls last limit 400;
