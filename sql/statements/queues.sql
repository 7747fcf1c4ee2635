-- Queues and the schema's own state. Small tables; none of these runs on a job's path.

-- name: read_server
-- Locks nothing.
-- row: version int, isolation text, datestyle text, migrations_exists boolean, queues_exists boolean
select current_setting('server_version_num')::int as version, current_setting('default_transaction_isolation') as isolation,
       current_setting('datestyle') as datestyle,
       exists (select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'leasehold' and c.relname = 'migrations') as migrations_exists,
       exists (select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'leasehold' and c.relname = 'queues') as queues_exists;

-- name: list_migrations
-- Locks nothing; the table has a row per migration and queue.
-- row: id int, queue text, checksum text
select id, queue, checksum from leasehold.migrations order by queue, id;

-- name: record_migration
-- Locks the row it inserts; migrations run one at a time under an advisory lock.
insert into leasehold.migrations (id, queue, name, checksum) values (:id::int, :queue::text, :name::text, :checksum::text)
on conflict (queue, id) do update set name = excluded.name, checksum = excluded.checksum, applied_at = now();

-- name: insert_queue
-- Locks the row it inserts, by queues_pkey; a queue made by somebody else in the meantime is left as it is.
insert into leasehold.queues (name, "order", is_strict, on_dead_letter, buckets, ring, vnodes, prefer_regions, exclude_regions,
                              retention, dedupe_window)
values (:name::text, :order::text, :is_strict::boolean, :on_dead_letter::text, :buckets::int, :ring::text, :vnodes::int,
        :prefer_regions::text[], :exclude_regions::text[],
        :retention_ms::float8 * interval '1 ms', :dedupe_window_ms::float8 * interval '1 ms')
on conflict (name) do nothing;

-- name: find_queue
-- Locks nothing; by queues_pkey.
-- row: name text, order text, is_strict boolean, on_dead_letter text, buckets int, ring text, ring_hash text, vnodes int, prefer_regions text[], exclude_regions text[], retention_ms float8, dedupe_window_ms float8, paused_at timestamptz?
select name, "order", is_strict, on_dead_letter, buckets, ring, ring_hash, vnodes, prefer_regions, exclude_regions,
       (extract(epoch from retention) * 1000)::float8 as retention_ms,
       (extract(epoch from dedupe_window) * 1000)::float8 as dedupe_window_ms, paused_at
from leasehold.queues where name = :name::text;

-- name: list_queues
-- Locks nothing; a row per queue.
-- row: name text, order text, buckets int
select name, "order", buckets from leasehold.queues order by name;

-- name: pause_queue
-- Locks the queue's row, by queues_pkey. The first pause counts.
-- nullable: now
-- row: paused_at timestamptz
update leasehold.queues set paused_at = coalesce(paused_at, :now::timestamptz, now()) where name = :name::text returning paused_at;

-- name: resume_queue
-- Locks the queue's row, by queues_pkey. Wakes the workers that wait.
-- row: name text
with resumed as (
  update leasehold.queues set paused_at = null where name = :name::text returning name, buckets
), told as materialized (
  select leasehold.wake_workers(r.name, array(select generate_series(0, r.buckets - 1))) from resumed r
)
select r.name from resumed r cross join told;
