-- What `diagnose` asks. Reads only; none of these locks anything, and each is bounded.

-- name: read_server_health
-- Locks nothing; settings, and lists in memory. What waits for a lock is chosen by its wait: its statement may have run for long before.
-- nullable: now
-- row: now timestamptz, version text, is_replica boolean, synchronous_commit text, autovacuum text, track_counts text, max_connections int, connections int, lock_waits int, longest_lock_wait_ms float8?, lock_waiter text?, lock_holders text[]
with waiting as materialized (
  select a.pid, extract(epoch from clock_timestamp() - l.waitstart) * 1000 as ms, left(a.query, 120) as query
  from pg_locks l join pg_stat_activity a on a.pid = l.pid where not l.granted and a.datname = current_database()
), longest as (
  select w.* from waiting w order by w.ms desc nulls last limit 1
)
select coalesce(:now::timestamptz, clock_timestamp()) as now, current_setting('server_version') as version, pg_is_in_recovery() as is_replica,
       current_setting('synchronous_commit') as synchronous_commit, current_setting('autovacuum') as autovacuum, current_setting('track_counts') as track_counts,
       current_setting('max_connections')::int as max_connections,
       (select count(*)::int from pg_stat_activity a where a.backend_type = 'client backend') as connections,
       (select count(*)::int from waiting) as lock_waits, (select l.ms::float8 from longest l) as longest_lock_wait_ms, (select l.query from longest l) as lock_waiter,
       coalesce((select pg_blocking_pids(l.pid)::text[] from longest l), '{}') as lock_holders;

-- name: list_snapshot_holders
-- Locks nothing. What keeps old row versions from being removed in this database, the oldest of each sort: sessions with a snapshot or with writes that are not committed, standbys that pass on their snapshots
-- (hot_standby_feedback), prepared transactions, and replication slots with the snapshot of a standby. Slots without one hold WAL, or the system's tables only. The snapshots of a plain VACUUM hold nothing, but ANALYZE does,
-- also by autovacuum. What others' sessions run, and standbys without a slot, are shown to members of pg_monitor only.
-- row: sort text, name text, owner text?, state text?, since timestamptz?, xid_age bigint, query text?
select r.sort, r.name, r.owner, r.state, r.since, r.xid_age, r.query from (
  select h.*, row_number() over (partition by h.sort order by h.since nulls last, h.xid_age desc, h.name) as n from (
    select case when a.datname is null then 'standby' when a.backend_type = 'autovacuum worker' then 'autovacuum worker' else 'session' end as sort, a.pid::text as name, a.usename::text as owner, a.state, a.xact_start as since,
           greatest(age(a.backend_xmin), age(a.backend_xid))::bigint as xid_age, left(a.query, 200) as query
    from pg_stat_activity a
    where (a.backend_xmin is not null or a.backend_xid is not null) and (a.datname = current_database() or (a.datname is null and a.backend_type = 'walsender')) and a.pid <> pg_backend_pid()
      and not coalesce(a.backend_type = 'autovacuum worker' and a.query like 'autovacuum: VACUUM%' and a.query not like 'autovacuum: VACUUM ANALYZE%', false)
      and not exists (select 1 from pg_stat_progress_vacuum v where v.pid = a.pid)
    union all
    select 'prepared transaction', p.gid, p.owner::text, null, p.prepared, age(p.transaction)::bigint, null from pg_prepared_xacts p where p.database = current_database()
    union all
    select 'replication slot', s.slot_name::text, s.plugin::text, case when s.active then 'active' else 'inactive' end, null, age(s.xmin)::bigint, null
    from pg_replication_slots s where s.xmin is not null) h) r
where r.n <= :limit::int
order by r.xid_age desc, r.sort, r.name;

-- name: read_queue_storage
-- Locks nothing; the statistics and sizes of one table.
-- row: table_bytes bigint, index_bytes bigint, live_tuples bigint, dead_tuples bigint, last_vacuum_at timestamptz?, autovacuum_enabled boolean, is_vacuuming boolean
select pg_table_size(c.oid)::bigint as table_bytes, pg_indexes_size(c.oid)::bigint as index_bytes, coalesce(s.n_live_tup, 0)::bigint as live_tuples,
       coalesce(s.n_dead_tup, 0)::bigint as dead_tuples, greatest(s.last_vacuum, s.last_autovacuum) as last_vacuum_at,
       not coalesce('autovacuum_enabled=false' = any(c.reloptions) or 'autovacuum_enabled=off' = any(c.reloptions), false) as autovacuum_enabled,
       exists (select 1 from pg_stat_progress_vacuum v where v.relid = c.oid) as is_vacuuming
from pg_class c left join pg_stat_all_tables s on s.relid = c.oid where c.oid = 'leasehold.inbox'::regclass;

-- name: sample_keys
-- Locks nothing. The keys with the most rows that are due, in a part of the table of at most so many bytes, picked at random; `rows` are those of the part that was read. `startable`: how many jobs, the first of their keys
-- where there is order, could start and have been due for so long: they wait for a slot, and not for another job of their key.
-- nullable: now
-- row: partition_key text, rows bigint, total bigint, share float8, startable bigint
with t as (
  select coalesce(:now::timestamptz, clock_timestamp()) as now
), pages as materialized (
  select least(1, :bytes_max::float8 / greatest(1, pg_relation_size('leasehold.inbox'))) as share
), keys as (
  select j.partition_key, count(*) filter (where j.status = 'pending' and j.available_at <= t.now) as rows,
         count(*) filter (where j.status = 'pending' and j.available_at <= t.now - :lag_ms::float8 * interval '1 ms') as late,
         min(j.seq) = min(j.seq) filter (where j.status = 'pending' and j.available_at <= t.now - :lag_ms * interval '1 ms') and not bool_or(j.status = 'processing') as is_late_first
  from leasehold.inbox j tablesample system ((select 100 * p.share from pages p)), t
  where j.in_line group by j.partition_key
)
select k.partition_key, k.rows, (sum(k.rows) over ())::bigint as total, (select p.share from pages p) as share,
       (sum(case when q."order" = 'key' then coalesce(k.is_late_first, false)::int else k.late end) over ())::bigint as startable
from keys k join leasehold.queues q on q.name = 'inbox' where k.rows > 0 order by k.rows desc, k.partition_key limit :limit::int;

-- name: list_poison_jobs
-- Locks nothing. Jobs that have taken their workers with them, among a part of the table of at most so many bytes, those with most crashes first; after them dead letters that crashed them in the last hour, newest first.
-- A parked dead letter died at the time of its last error.
-- nullable: now
-- row: id uuid, kind text, partition_key text, crashes int, status text, died_at timestamptz?, last_error text?
with pages as materialized (
  select least(1, :bytes_max::float8 / greatest(1, pg_relation_size('leasehold.inbox'))) as share
)
select p.id, p.kind, p.partition_key, p.crashes, p.status, p.died_at, p.last_error from (
  select j.id, j.kind, j.partition_key, j.crashes, j.status, j.last_error,
         case when j.status = 'dead_letter' then coalesce(j.finished_at, (j.errors -> -1 ->> 'at')::timestamptz, j.created_at) end as died_at
  from leasehold.inbox j tablesample system ((select 100 * p.share from pages p))
  where j.crashes >= 2) p
where p.died_at is null or p.died_at > coalesce(:now::timestamptz, clock_timestamp()) - interval '1 hour'
order by (p.status = 'dead_letter'), p.died_at desc, p.crashes desc, p.id limit :limit::int;

-- name: count_recent_dead
-- Locks nothing. Dead letters of the last hour, and the error of the newest: those that let their key go on by inbox_finished, up to a thousand. No index has those alone that are parked: where a queue parks them they are
-- counted in a part of the table of at most so many bytes, and scaled up; `share` tells of what part.
-- nullable: now
-- row: dead bigint, kind text?, last_error text?, share float8
with pages as materialized (
  select q.on_dead_letter = 'park' as parks, least(1, :bytes_max::float8 / greatest(1, pg_relation_size('leasehold.inbox'))) as share
  from leasehold.queues q where q.name = 'inbox'
), recent as materialized (
  select r.*, false as is_parked from (
    select j.kind, j.last_error, j.finished_at as died_at from leasehold.inbox j
    where j.finished_at is not null and j.finished_at > coalesce(:now::timestamptz, clock_timestamp()) - interval '1 hour' order by j.finished_at desc limit 1000) r
  union all
  select r.*, true from (
    select j.kind, j.last_error, coalesce((j.errors -> -1 ->> 'at')::timestamptz, j.created_at) as died_at
    from leasehold.inbox j tablesample system ((select case when p.parks then 100 * p.share else 0 end from pages p))
    where j.status = 'dead_letter' and j.finished_at is null) r
  where r.died_at > coalesce(:now::timestamptz, clock_timestamp()) - interval '1 hour'
)
select (count(r.died_at) filter (where not r.is_parked) + round(count(r.died_at) filter (where r.is_parked) / p.share))::bigint as dead,
       (array_agg(r.kind order by r.died_at desc nulls last))[1] as kind, (array_agg(r.last_error order by r.died_at desc nulls last))[1] as last_error,
       case when p.parks then p.share else 1 end as share
from pages p left join recent r on true group by p.parks, p.share;

-- name: ping
-- Locks nothing. Whether the server answers, and whether it can be written to.
-- row: is_replica boolean
select pg_is_in_recovery() as is_replica;

-- name: read_archive_rows
-- Locks nothing; by pg_inherits_parent_index. What the planner's statistics say of the days of an archive.
-- row: rows bigint
select coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint as rows from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass('leasehold.inbox_archive');
