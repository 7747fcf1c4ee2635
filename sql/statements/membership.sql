-- Membership: who is alive. What the rows mean: migration 0010. Small table, never on a job's path; every write names its generation.

-- name: register_worker
-- Locks the worker's row, by workers_pkey. A repetition raises the generation once more, which harms nobody. A process that starts takes its id from whoever has it; one that
-- registers again (not is_new) does so only while nobody has taken it, otherwise there is no row.
-- Whose id is taken may still run tenants until its TTL is over, or, if its session lock is the caller's now, for the grace.
-- nullable: now, region
-- row: generation bigint
with registered as (
  insert into leasehold.workers as w (id, hostname, pid, region, status, started_at, last_seen_at, alive_since, ttl, queues, kinds, failing, has_session, metadata, incarnation)
  select :id::text, :hostname::text, :pid::int, :region::text, 'alive', t.now, t.now, t.now, :ttl_ms::float8 * interval '1 ms',
         :queues::text[], :kinds::jsonb, leasehold.failing_since('{}', :failing::jsonb, t.now), :has_session::boolean, :metadata::jsonb, :incarnation::text
  from (select coalesce(:now::timestamptz, clock_timestamp()) as now) t
  on conflict (id) do update set hostname = excluded.hostname, pid = excluded.pid, region = excluded.region, status = 'alive',
    started_at = case when :is_new::boolean then excluded.started_at else w.started_at end, last_seen_at = excluded.last_seen_at, ttl = excluded.ttl, generation = w.generation + 1,
    starts = w.starts + case when w.incarnation is distinct from excluded.incarnation then 1 else 0 end,
    first_token = case when not :is_new::boolean then w.first_token end, drain_asked_at = case when not :is_new::boolean then w.drain_asked_at end, wake_wish = null, free_since = null, left_at = null, is_watcher = false, queues = excluded.queues, kinds = excluded.kinds,
    failing = leasehold.failing_since(w.failing, excluded.failing, excluded.last_seen_at), has_session = excluded.has_session,
    metadata = excluded.metadata, incarnation = excluded.incarnation,
    alive_since = case when :is_new::boolean or w.status = 'dead' then excluded.last_seen_at else w.alive_since end,
    lost_at = case when w.left_at is null and (w.status = 'dead' or w.incarnation is distinct from excluded.incarnation) then excluded.last_seen_at else w.lost_at end,
    predecessors = leasehold.predecessors_of(w, excluded.incarnation, excluded.has_session, :grace_ms::float8, excluded.last_seen_at)
    where :is_new::boolean or w.incarnation = excluded.incarnation
  returning w.id, w.generation, w.starts, w.last_seen_at, w.hostname, w.pid
), noted as (
  insert into leasehold.history (at, kind, worker_id, detail)
  select r.last_seen_at, 'worker:joined', r.id,
         jsonb_build_object('why', :why::text, 'generation', r.generation, 'starts', r.starts, 'hostname', r.hostname, 'pid', r.pid) from registered r
), told as materialized (
  select pg_notify('leasehold_ring', 'joined') from registered
)
select r.generation from registered r cross join told;

-- name: beat_worker
-- Locks the worker's row, by workers_pkey. Accepted only under the caller's generation and while not marked dead; the row as it
-- was says why not. Carries the queues too, so that a change that could not be told heals. A session is only ever taken back here, so that a beat which comes late can't
-- say that there is one when it broke long ago. A beat proves life, so the grace of a session lock that was found free begins again; is_free tells that it was.
-- `created_us`: when each of its queues was created, by queues_pkey; one that was dropped and created again is another one.
-- nullable: now
-- row: accepted boolean, incarnation text?, is_free boolean, is_drain_asked boolean, created_us jsonb
with beaten as (
  update leasehold.workers w set last_seen_at = coalesce(:now::timestamptz, clock_timestamp()), has_session = w.has_session and :has_session::boolean,
    free_since = case when :has_session::boolean and w.free_since is not null then greatest(w.free_since, coalesce(:now::timestamptz, clock_timestamp())) end, queues = :queues::text[], kinds = :kinds::jsonb, status = case when cardinality(:queues::text[]) = 0 then 'draining' else 'alive' end,
    failing = leasehold.failing_since(w.failing, :failing::jsonb, coalesce(:now::timestamptz, clock_timestamp())), metadata = :metadata::jsonb, first_token = coalesce(w.first_token, leasehold.next_token())
  where w.id = :id::text and w.generation = :generation::bigint and w.status <> 'dead'
  returning w.id
)
select exists (select 1 from beaten) as accepted, w.incarnation, w.free_since is not null as is_free, w.drain_asked_at is not null as is_drain_asked,
       (select coalesce(jsonb_object_agg(q.name, ((extract(epoch from q.created_at) * 1000000)::bigint)::text), '{}')
        from leasehold.queues q where q.name = any(:queues::text[]) and q.dropped_at is null) as created_us
from (select 1) one left join leasehold.workers w on w.id = :id::text;

-- name: change_worker_queues
-- Locks the worker's row, by workers_pkey. A worker that works on nothing any more is draining: it is in no ring. Of a queue that fails it is in no ring either; `gone` are queues
-- that it need not be woken for.
-- nullable: now
-- row: accepted boolean
with changed as (
  update leasehold.workers w set queues = :queues::text[], kinds = :kinds::jsonb, failing = leasehold.failing_since(w.failing, :failing::jsonb, coalesce(:now::timestamptz, clock_timestamp())),
    status = case when cardinality(:queues::text[]) = 0 then 'draining' else 'alive' end, wake_wish = w.wake_wish - :gone::text[]
  where w.id = :id::text and w.generation = :generation::bigint and w.status <> 'dead'
  returning w.id
), told as materialized (
  select pg_notify('leasehold_ring', 'changed') from changed
)
select exists (select 1 from told) as accepted;

-- name: deregister_worker
-- Locks the worker's row, by workers_pkey. With nothing left in hand it has left; otherwise it is dead and its rows are taken over.
-- nullable: now
-- row: accepted boolean
with gone as (
  update leasehold.workers w set status = 'dead', wake_wish = null, has_session = false, queues = '{}',
    left_at = case when :is_clean::boolean then coalesce(:now::timestamptz, clock_timestamp()) end
  where w.id = :id::text and w.generation = :generation::bigint and (w.status <> 'dead' or w.left_at is null)
  returning w.id, w.left_at
), noted as (
  insert into leasehold.history (at, kind, worker_id, detail)
  select coalesce(:now::timestamptz, clock_timestamp()), case when g.left_at is null then 'worker:dead' else 'worker:left' end, g.id,
         case when g.left_at is null then '{"rule": "stopped"}'::jsonb else '{}' end from gone g
), told as materialized (
  select pg_notify('leasehold_ring', 'left') from gone
)
select exists (select 1 from told) as accepted;

-- name: list_members
-- Locks the rows of workers not seen for their TTL, in the order of their ids, skip locked, and marks them dead; so everybody who
-- looks at the ring also keeps it true. `queues` are those that the worker may own buckets of: without those that fail.
-- nullable: now
-- row: id text, region text?, queues text[], has_session boolean, is_watcher boolean, expires_in_ms float8, alive_ms float8, lost_ms float8?, generation bigint, starts bigint, kinds jsonb
with t as materialized (
  select coalesce(:now::timestamptz, clock_timestamp()) as now
), stale as materialized (
  select w.id from leasehold.workers w cross join t where w.status <> 'dead' and w.last_seen_at + w.ttl <= t.now
  order by w.id for update of w skip locked
), marked as (
  update leasehold.workers w set status = 'dead' from stale s where w.id = s.id returning w.id, w.last_seen_at
), noted as (
  insert into leasehold.history (at, kind, worker_id, detail)
  select t.now, 'worker:dead', m.id, jsonb_build_object('rule', 'ttl', 'last_seen_at', m.last_seen_at) from marked m cross join t
), told as materialized (
  select pg_notify('leasehold_ring', 'stale') from (select 1 from marked limit 1) m
)
select w.id, w.region, array(select q.name from unnest(w.queues) with ordinality q(name, n) where not w.failing ? q.name order by q.n) as queues, w.has_session, w.is_watcher, (extract(epoch from w.last_seen_at + w.ttl - t.now) * 1000)::float8 as expires_in_ms,
       (extract(epoch from t.now - w.alive_since) * 1000)::float8 as alive_ms,
       (extract(epoch from t.now - w.lost_at) * 1000)::float8 as lost_ms, w.generation, w.starts, w.kinds
from leasehold.workers w cross join t cross join (select count(*) from told) n
where w.status = 'alive' and w.last_seen_at + w.ttl > t.now
order by w.id;

-- name: wish_wake
-- Locks the worker's row, by workers_pkey. `bits` has a 0 or 1 for each bucket of the queue; null takes the wish back.
-- nullable: bits
-- row: id text
update leasehold.workers w
set wake_wish = case when :bits::text is null then w.wake_wish - :queue::text
                     else coalesce(w.wake_wish, '{}') || jsonb_build_object(:queue::text, :bits::text) end
where w.id = :id::text and w.generation = :generation::bigint
returning w.id;

-- name: hold_session_lock
-- Locks: the worker's session-level advisory lock, tried. Meant for the session that lives as long as the worker. No pooler stands in between by now,
-- so settings stay on this connection: what comes later reads committed rows, and the server does not end a session that is idle.
-- row: held boolean
select pg_try_advisory_lock(leasehold.session_lock(:id::text)) as held
from (select set_config('default_transaction_isolation', 'read committed', false), set_config('idle_session_timeout', '0', false)) kept;

-- name: watch_workers
-- Locks: see the function in migration 0010.
-- nullable: now
-- row: is_watcher boolean, marked text[], next_ms float8?
select is_watcher, marked, next_ms
from leasehold.watch_workers(:worker_id::text, :is_watcher::boolean, :grace_ms::float8, :now::timestamptz);

-- name: find_channels
-- Locks nothing. Also has the server look after the connection, so that a session into the void does not keep its locks for hours.
-- row: pid int, started_at timestamptz, ring text, own text
select pg_backend_pid() as pid, date_trunc('milliseconds', a.backend_start) as started_at, 'leasehold_ring' as ring, leasehold.worker_channel(:id::text) as own
from pg_stat_activity a cross join (
  select set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
         set_config('tcp_keepalives_count', '3', false)) kept
where a.pid = pg_backend_pid();

-- name: end_session
-- Locks nothing. Ends an earlier session of ours that the server does not know to be broken, and with it the locks it holds.
-- row: ended boolean
select pg_terminate_backend(a.pid) as ended from pg_stat_activity a
where a.pid = :pid::int and date_trunc('milliseconds', a.backend_start) = :started_at::timestamptz and a.usename = current_user and a.pid <> pg_backend_pid();

-- name: notify_channel
-- Locks nothing; the self-test of a listener.
-- row: told boolean
select pg_notify(:channel::text, :payload::text)::text is not null as told;

-- name: list_workers
-- Locks nothing; the whole registry, for people.
-- nullable: now
-- row: id text, hostname text?, pid int?, region text?, status text, started_at timestamptz, last_seen_at timestamptz, expires_in_ms float8, generation bigint, queues text[], kinds jsonb, failing jsonb, has_session boolean, free_since timestamptz?, left_at timestamptz?, metadata jsonb
select w.id, w.hostname, w.pid, w.region, w.status, w.started_at, w.last_seen_at,
       (extract(epoch from w.last_seen_at + w.ttl - coalesce(:now::timestamptz, clock_timestamp())) * 1000)::float8 as expires_in_ms,
       w.generation, w.queues, w.kinds, w.failing, w.has_session, w.free_since, w.left_at, w.metadata
from leasehold.workers w order by w.id;

-- name: ask_to_drain
-- Locks the worker's row, by workers_pkey. Its next beat reads it. A second request changes nothing and is no error.
-- nullable: now
-- row: id text
with asked as (
  update leasehold.workers w set drain_asked_at = coalesce(w.drain_asked_at, :now::timestamptz, clock_timestamp())
  where w.id = :id::text and w.status <> 'dead'
  returning w.id
), noted as materialized (
  select leasehold.note_history('worker:drain_asked', null, a.id, null, null, :now::timestamptz) from asked a
)
select a.id from asked a cross join (select count(*) from noted) n;

-- name: evict_worker
-- Locks the worker's row, by workers_pkey, in the trigger of migration 0010.
-- row: id text
delete from leasehold.worker_lease where worker_id = :id::text returning worker_id as id;
