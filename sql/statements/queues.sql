-- Queues and the schema's own state. Small tables; none of these runs on a job's path.

-- name: read_server
-- Locks nothing. Names of pg_catalog are qualified, because a search_path that hides them is found out here.
-- row: version int, isolation text, datestyle text, read_only boolean, encoding text, float_digits int, path text[], is_standby boolean
-- row: migrations_exists boolean, queues_exists boolean, version_exists boolean, place_exists boolean
select pg_catalog.current_setting('server_version_num')::pg_catalog.int4 as version, pg_catalog.current_setting('default_transaction_isolation') as isolation,
       pg_catalog.current_setting('datestyle') as datestyle, pg_catalog.current_setting('default_transaction_read_only')::pg_catalog.bool as read_only,
       pg_catalog.current_setting('client_encoding') as encoding, pg_catalog.current_setting('extra_float_digits')::pg_catalog.int4 as float_digits,
       pg_catalog.current_schemas(true)::pg_catalog.text[] as path, pg_catalog.pg_is_in_recovery() as is_standby,
       exists (select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'leasehold' and c.relname = 'migrations') as migrations_exists,
       exists (select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'leasehold' and c.relname = 'queues') as queues_exists,
       exists (select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'leasehold' and c.relname = 'schema_version') as version_exists,
       exists (select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
               where n.nspname = 'leasehold' and c.relname = 'schema_place') as place_exists;

-- name: find_version
-- Locks nothing; one row. The revision of the library that last migrated the schema, and of the oldest one that may work on it.
-- row: revision int, oldest int
select revision, oldest from leasehold.schema_version;

-- name: find_place
-- Locks nothing; one row. Whether the schema was restored or copied to another place than where its tokens were drawn.
-- row: is_elsewhere boolean
select leasehold.is_elsewhere(p) as is_elsewhere from leasehold.schema_place p;

-- name: begin_token_epoch
-- Locks the only row of schema_place.
-- row: epoch bigint
select leasehold.begin_token_epoch() as epoch;

-- name: record_version
-- Locks the only row. Never goes back; runs under the advisory lock of migrations.
insert into leasehold.schema_version as v (revision, oldest) values (:revision::int, :oldest::int)
on conflict (is_only) do update set revision = excluded.revision, oldest = excluded.oldest, migrated_at = now()
where v.revision < excluded.revision;

-- name: list_migrations
-- Locks nothing; the table has a row per migration and queue.
-- row: id int, queue text, checksum text
select id, queue, checksum from leasehold.migrations order by queue, id;

-- name: record_migration
-- Locks the row it inserts; migrations run one at a time under an advisory lock.
insert into leasehold.migrations (id, queue, name, checksum, revision) values (:id::int, :queue::text, :name::text, :checksum::text, :revision::int)
on conflict (queue, id) do update set name = excluded.name, checksum = excluded.checksum, revision = excluded.revision, applied_at = now();

-- name: find_taken_names
-- Locks nothing; by the indexes of pg_class and pg_proc on names. Days of an archive are matched by their pattern.
-- row: name text
select c.relname::text as name from pg_class c
where c.relnamespace = 'leasehold'::regnamespace and (c.relname = any(:relations::text[]) or c.relname ~ :day_pattern::text)
union
select p.proname::text from pg_proc p where p.pronamespace = 'leasehold'::regnamespace and p.proname = any(:functions::text[])
order by 1 limit 10;

-- name: find_missing_roles
-- Locks nothing; by the indexes of pg_authid. Which of these roles do not exist, and whether the caller may create them.
-- row: missing text[], may_create boolean
select array(select r.name from unnest(:roles::text[]) r(name)
             where not exists (select 1 from pg_roles p where p.rolname = r.name) order by r.name) as missing,
       exists (select 1 from pg_roles p where p.rolname = current_user and (p.rolsuper or p.rolcreaterole)) as may_create;

-- name: has_function_defaults
-- Locks nothing; by pg_default_acl_role_nsp_obj_index. Whether the role has rights of its own on functions that it will create, in whatever schema.
-- row: has_defaults boolean
select exists (select 1 from pg_default_acl d
               where d.defaclrole = (select r.oid from pg_roles r where r.rolname = current_user) and d.defaclnamespace = 0 and d.defaclobjtype = 'f') as has_defaults;

-- name: list_open_functions
-- Locks nothing; by pg_proc_proname_args_nsp_index. Functions of these names that everybody may call, but for the one that the archive's constraint calls (0002); the signature is quoted.
-- row: signature text
select p.oid::regprocedure::text as signature from pg_proc p
where p.pronamespace = 'leasehold'::regnamespace and p.proname = any(:functions::text[]) and p.proname <> 'attaching_day'
  and (p.proacl is null or exists (select 1 from aclexplode(p.proacl) a where a.grantee = 0))
order by 1;

-- name: insert_queue
-- Locks the row it inserts, by queues_pkey; a queue made by somebody else in the meantime is left as it is.
with made as (
insert into leasehold.queues (name, "order", is_strict, on_dead_letter, buckets, ring, vnodes, prefer_regions, exclude_regions,
                              retention, dead_letter_retention, dedupe_window, max_attempts, max_crashes, kinds)
values (:name::text, :order::text, :is_strict::boolean, :on_dead_letter::text, :buckets::int, :ring::text, :vnodes::int,
        :prefer_regions::text[], :exclude_regions::text[],
        :retention_ms::float8 * interval '1 ms', :dead_letter_retention_ms::float8 * interval '1 ms', :dedupe_window_ms::float8 * interval '1 ms',
        :max_attempts::int, :max_crashes::int, :kinds::jsonb)
on conflict (name) do nothing returning name, "order"
)
insert into leasehold.history (at, kind, queue, detail)
select clock_timestamp(), 'queue:created', m.name, jsonb_build_object('order', m."order") from made m;

-- name: find_queue
-- Locks nothing; by queues_pkey. Not one that is being dropped.
-- row: name text, order text, is_strict boolean, on_dead_letter text, buckets int, ring text, ring_hash text, vnodes int, prefer_regions text[], exclude_regions text[], retention_ms float8, dead_letter_retention_ms float8, dedupe_window_ms float8, max_attempts int, max_crashes int, kinds jsonb, paused_at timestamptz?, created_us bigint
select name, "order", is_strict, on_dead_letter, buckets, ring, ring_hash, vnodes, prefer_regions, exclude_regions,
       (extract(epoch from retention) * 1000)::float8 as retention_ms,
       (extract(epoch from dead_letter_retention) * 1000)::float8 as dead_letter_retention_ms,
       (extract(epoch from dedupe_window) * 1000)::float8 as dedupe_window_ms, max_attempts, max_crashes, kinds, paused_at,
       (extract(epoch from created_at) * 1000000)::bigint as created_us
from leasehold.queues where name = :name::text and dropped_at is null;

-- name: list_queues
-- Locks nothing; a row per queue, without those that are being dropped.
-- row: name text, order text, buckets int
select name, "order", buckets from leasehold.queues where dropped_at is null order by name;

-- name: list_queue_shapes
-- Locks nothing. With columns that every revision has had, for a schema that is older than this library; a queue that is being dropped is among them.
-- row: name text, order text, buckets int
select name, "order", buckets from leasehold.queues order by name;

-- name: change_queue
-- Locks the queue's row, by queues_pkey. What is null stays. A queue with an archive keeps one, and one without has none: a call that is sent again relies on it.
-- nullable: retention_ms, dead_letter_retention_ms, dedupe_window_ms, max_attempts, max_crashes, kinds
-- row: name text
with changed as (
update leasehold.queues set retention = coalesce(:retention_ms::float8 * interval '1 ms', retention),
  dead_letter_retention = coalesce(:dead_letter_retention_ms::float8 * interval '1 ms', dead_letter_retention),
  dedupe_window = coalesce(:dedupe_window_ms::float8 * interval '1 ms', dedupe_window),
  max_attempts = coalesce(:max_attempts::int, max_attempts), max_crashes = coalesce(:max_crashes::int, max_crashes),
  kinds = coalesce(:kinds::jsonb, kinds)
where name = :name::text and (:retention_ms::float8 is null or (retention > interval '0') = (:retention_ms::float8 > 0))
returning name
), noted as (
  insert into leasehold.history (at, kind, queue, detail)
  select clock_timestamp(), 'queue:changed', c.name, jsonb_strip_nulls(jsonb_build_object('retentionMs', :retention_ms::float8, 'deadLetterRetentionMs', :dead_letter_retention_ms::float8,
    'dedupeWindowMs', :dedupe_window_ms::float8, 'maxAttempts', :max_attempts::int, 'maxCrashes', :max_crashes::int, 'kinds', :kinds::jsonb)) from changed c
)
select name from changed;

-- name: find_queue_use
-- Locks nothing; reads the registry and the first row of the queue. Who works on the queue, and whether it has jobs.
-- nullable: now
-- row: workers text[], has_jobs boolean
select array(select w.id from leasehold.workers w
             where w.status <> 'dead' and 'inbox' = any(w.queues) and w.last_seen_at + w.ttl > coalesce(:now::timestamptz, clock_timestamp())
             order by w.id limit 20) as workers,
       exists (select 1 from leasehold.inbox) as has_jobs;

-- name: list_queue_functions
-- Locks nothing; by pg_proc_proname_args_nsp_index. The signatures are quoted.
-- row: signature text
select p.oid::regprocedure::text as signature from pg_proc p
where p.pronamespace = 'leasehold'::regnamespace and p.proname = any(:functions::text[]) order by 1;

-- name: list_archive_days
-- Locks nothing; by the indexes of pg_class and pg_inherits. Days of the archive of a queue, without the rest, oldest first.
-- row: name text
select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = to_regclass('leasehold.inbox_archive') and c.relname <> 'inbox_archive_rest' order by 1 limit :limit::int;

-- name: lock_queue
-- Locks the queue's row, by queues_pkey, also when it is being dropped.
-- row: order text, is_dropped boolean
select "order", dropped_at is not null as is_dropped from leasehold.queues where name = 'inbox' for update;

-- name: mark_dropped
-- Locks the queue's row, by queues_pkey. From now on only a drop sees it.
-- nullable: now
update leasehold.queues set dropped_at = coalesce(:now::timestamptz, now()) where name = 'inbox';

-- name: forget_keys
-- Locks the rows it deletes, by dedupe_pkey: a batch of the idempotency keys of a queue that is being dropped.
-- row: removed bigint
with batch as materialized (
  select d.idempotency_key from leasehold.dedupe d where d.queue = 'inbox' order by d.idempotency_key limit :limit::int
), gone as (
  delete from leasehold.dedupe d using batch b where d.queue = 'inbox' and d.idempotency_key = b.idempotency_key returning 1
)
select count(*) as removed from gone;

-- name: forget_queue
-- Locks the rows it deletes, in three small tables.
with s as (delete from leasehold.samples where queue = 'inbox'),
     m as (delete from leasehold.migrations where queue = 'inbox'),
     q as (delete from leasehold.queues where name = 'inbox' returning name)
insert into leasehold.history (at, kind, queue) select clock_timestamp(), 'queue:dropped', q.name from q;

-- name: pause_queue
-- Locks the queue's row, by queues_pkey. The first pause counts.
-- nullable: now
-- row: paused_at timestamptz
with before as materialized (
  select q.name, q.paused_at from leasehold.queues q where q.name = :name::text for update
), paused as (
  update leasehold.queues q set paused_at = coalesce(b.paused_at, :now::timestamptz, now()) from before b where q.name = b.name returning q.paused_at
), noted as (
  insert into leasehold.history (at, kind, queue)
  select coalesce(:now::timestamptz, clock_timestamp()), 'queue:paused', b.name from before b where b.paused_at is null
)
select p.paused_at from paused p;

-- name: resume_queue
-- Locks the queue's row, by queues_pkey. Wakes the workers that wait.
-- row: name text
with before as materialized (
  select q.name, q.paused_at from leasehold.queues q where q.name = :name::text for update
), resumed as (
  update leasehold.queues q set paused_at = null from before b where q.name = b.name returning q.name, q.buckets
), noted as (
  insert into leasehold.history (at, kind, queue, detail)
  select clock_timestamp(), 'queue:resumed', b.name, jsonb_build_object('paused_at', b.paused_at) from before b where b.paused_at is not null
), told as materialized (
  select leasehold.wake_workers(r.name, array(select generate_series(0, r.buckets - 1))) from resumed r
)
select r.name from resumed r cross join told;
