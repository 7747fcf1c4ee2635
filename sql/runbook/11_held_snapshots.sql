-- title: Held snapshots
-- when: bloat shows dead rows that vacuum does not remove.
-- read: Who holds the oldest transactions of this database, the oldest first. Vacuum can't remove what these may still see. Ages below a minute are normal. Other sessions' state, query and time,
--   and standbys, are shown to members of pg_monitor and superusers only; pids and ages of sessions are shown to everybody.
-- column holder: session, standby, prepared transaction, replication slot, or what a process of the server is, such as autovacuum worker
-- column name: the pid, the name of the prepared transaction, or that of the slot
-- column xids_behind: how many transactions have begun since; what counts for vacuum
-- column since: when the transaction began; empty for slots, and for other sessions without pg_monitor
-- column held_s: seconds since then
-- column username: whose it is
-- column application: what the session calls itself
-- column state: of the session (idle in transaction: a client forgot to commit), or active and inactive for a slot
-- column holds: rows, or catalog when it holds only the system's tables (logical slots)
-- column query: the last statement of the session, its first 100 characters
-- next: A session that is idle in transaction: repair the client, and `select pg_terminate_backend(pid)`; `idle_in_transaction_session_timeout` prevents it. A prepared transaction that nobody ends:
--   `rollback prepared 'name'`. An inactive slot: `select pg_drop_replication_slot('name')`, if nobody comes back for it. A standby: `hot_standby_feedback` passes on its long queries.
-- index: none; reads the server's lists of sessions, prepared transactions and slots.
select h.holder, h.name, h.xids_behind, h.since, extract(epoch from now() - h.since)::int as held_s, h.username, h.application, h.state, h.holds, h.query
from (
  select case a.backend_type when 'walsender' then 'standby' else coalesce(nullif(a.backend_type, 'client backend'), 'session') end as holder, a.pid::text as name,
         greatest(age(a.backend_xmin), age(a.backend_xid)) as xids_behind, a.xact_start as since, a.usename::text as username, a.application_name as application, a.state,
         'rows' as holds, left(a.query, 100) as query
  from pg_catalog.pg_stat_activity a
  where (a.backend_xmin is not null or a.backend_xid is not null) and a.pid <> pg_backend_pid()
    and (a.datname = current_database() or a.backend_type = 'walsender')
  union all
  select 'prepared transaction', p.gid, age(p.transaction), p.prepared, p.owner::text, null, 'prepared', 'rows', null
  from pg_catalog.pg_prepared_xacts p where p.database = current_database()
  union all
  select 'replication slot', s.slot_name::text, greatest(age(s.xmin), age(s.catalog_xmin)), null, null, s.plugin::text, case when s.active then 'active' else 'inactive' end,
         case when s.xmin is null then 'catalog' else 'rows' end, null
  from pg_catalog.pg_replication_slots s where s.xmin is not null or s.catalog_xmin is not null) h
order by h.holds desc, h.xids_behind desc, h.name limit 50;
