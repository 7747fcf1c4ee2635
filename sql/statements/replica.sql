-- Who a replica is, and how far it is behind. Reads only: none of these locks anything.

-- name: read_server_place
-- Locks nothing. Which database of which server this is; `started` tells two servers apart that are copies of each other.
-- row: is_standby boolean, database_id text, started text
select pg_is_in_recovery() as is_standby, (select d.oid::text from pg_catalog.pg_database d where d.datname = current_database()) as database_id,
       extract(epoch from pg_postmaster_start_time())::text as started;

-- name: read_system_id
-- Locks nothing. The same on a primary and its standbys. Some managed servers keep it from their users.
-- row: system_id text
select c.system_identifier::text as system_id from pg_control_system() c;

-- name: read_replayed_at
-- Locks nothing. When the newest transaction that the standby has replayed was committed on the primary; null before the first.
-- row: is_standby boolean, replayed_at timestamptz?
select pg_is_in_recovery() as is_standby, pg_last_xact_replay_timestamp() as replayed_at;

-- name: read_wal_position
-- Locks nothing. How far the log of the primary has come.
-- row: position text
select pg_current_wal_lsn()::text as position;

-- name: read_replica_lag
-- Locks nothing. 0 when the log is replayed to the position given, or, without one, to the end of what a running stream has brought; else the age of the newest transaction that was
-- replayed, which is too much rather than too little.
-- nullable: position
-- row: behind_ms float8?
select case when not pg_is_in_recovery() then 0
            when pg_last_wal_replay_lsn() >= :position::text::pg_lsn then 0
            when :position is null and pg_last_wal_replay_lsn() >= pg_last_wal_receive_lsn() and exists (select 1 from pg_catalog.pg_stat_wal_receiver) then 0
            else greatest(0, extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000) end::float8 as behind_ms;
