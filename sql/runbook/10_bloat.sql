-- title: Bloat of the queue's tables
-- when: Claims get slower while the load stays the same, or the disk fills.
-- read: One line for each table that work changes all the time, from the server's statistics. The queue's table is written with half of each page empty, for the versions of a job's life. Dead rows below
--   live ones are normal; a multiple of them, or a last_vacuum_at of hours ago under load, is not.
-- column table_name: the table
-- column live_rows: rows, estimated by the server
-- column dead_rows: versions that vacuum has not removed yet
-- column dead_percent: dead_rows of all versions
-- column table_bytes: size of the table with its TOAST part
-- column index_bytes: size of its indexes
-- column hot_percent: updates that touched no index; near 100 for the queue's table
-- column last_vacuum_at: when autovacuum, or a person, last vacuumed it
-- column last_analyze_at: the same for analyze
-- column autovacuum_on: false when autovacuum is off for the server or for this table
-- next: autovacuum_on is false: turn it on. dead_percent grows although vacuum has just run: something holds a snapshot, see held-snapshots. Large after a past backlog, with few rows: `vacuum` makes
--   the space usable again, and `reindex table concurrently` makes the indexes small while work goes on.
-- index: none; reads statistics and sizes of thirteen tables. Locks nothing.
select s.relname::text as table_name, s.n_live_tup as live_rows, s.n_dead_tup as dead_rows,
       round(100.0 * s.n_dead_tup / greatest(1, s.n_live_tup + s.n_dead_tup), 1)::float8 as dead_percent,
       pg_table_size(s.relid) as table_bytes, pg_indexes_size(s.relid) as index_bytes, round(100.0 * s.n_tup_hot_upd / nullif(s.n_tup_upd, 0), 1)::float8 as hot_percent,
       greatest(s.last_autovacuum, s.last_vacuum) as last_vacuum_at, greatest(s.last_autoanalyze, s.last_analyze) as last_analyze_at,
       current_setting('autovacuum')::boolean and not coalesce('autovacuum_enabled=false' = any(c.reloptions) or 'autovacuum_enabled=off' = any(c.reloptions), false) as autovacuum_on
from pg_catalog.pg_stat_user_tables s join pg_catalog.pg_class c on c.oid = s.relid
where s.schemaname = 'leasehold' and s.relname in ('inbox', 'inbox_hot_keys', 'inbox_turns', 'queues', 'workers', 'dedupe', 'receipts', 'handled', 'fences',
  'tenant_leases', 'samples', 'duties', 'history')
order by s.relname <> 'inbox', s.n_dead_tup desc, s.relname;
