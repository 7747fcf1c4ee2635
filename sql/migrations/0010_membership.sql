--! scope: schema
--
-- Who is alive. One row of `workers` per process; src/membership/README.md is the essay. The rows decide, by this database's clock:
--
--   register   upsert; the generation rises, so an older process of the same id finds out that it was replaced, and then can't register again: the
--              row has another incarnation
--   beat       every heartbeat, only under one's own generation and while not marked dead. It also starts the grace of a free session again
--   fail       a worker whose claims or settles of a queue always fail says so in `failing` and is in no ring of that queue until one works again
--   leave      draining at once (out of every ring), dead with left_at when nothing is in hand any more
--   mark       dead: not seen for its TTL (whoever lists the members marks), session gone (watch_workers), or evicted by a person
--
-- A process that can keep a session of its own (no transaction pooler in between) also holds an advisory lock on it for as long as it
-- lives. One elected process tries those locks twice a second; a lock that stays free for the grace means that its holder is gone.
--
-- Notifications: leasehold_ring tells that membership changed; worker_channel(id) tells one worker that a queue has rows for it.

alter table leasehold.workers add column if not exists queues text[] not null default '{}';      -- what it works on
alter table leasehold.workers add column if not exists failing jsonb not null default '{}';           -- queues that it can't work on now: {queue: {what, reason, since}}
alter table leasehold.workers add column if not exists has_session boolean not null default false; -- it holds its session lock
alter table leasehold.workers add column if not exists is_watcher boolean not null default false; -- it was elected to look after sessions
alter table leasehold.workers add column if not exists incarnation text;                          -- which process of this id it is: drawn when it starts
alter table leasehold.workers add column if not exists first_token bigint;                        -- drawn at its first beat: what earlier processes of this id claimed has a lower one
alter table leasehold.workers add column if not exists starts bigint not null default 1;             -- processes that had this id; a process that registers again is the same one
alter table leasehold.workers add column if not exists kinds jsonb not null default '{}';        -- queue -> the kinds that it has handlers for; all, where the queue is missing
alter table leasehold.workers add column if not exists left_at timestamptz;                       -- it left in good order, with nothing in hand

-- Which ring spreads the buckets of a queue. Stored, so that all workers agree.
alter table leasehold.queues add column if not exists ring_hash text not null default 'fnv1a-fmix32';
alter table leasehold.queues add column if not exists vnodes int not null default 128 check (vnodes between 1 and 4096);
alter table leasehold.queues add column if not exists prefer_regions text[] not null default '{}';
alter table leasehold.queues add column if not exists exclude_regions text[] not null default '{}';

-- When the last round of a duty of the whole fleet began, so that it is done once in its interval and not once by each; and the round that is under way, if any.
create table if not exists leasehold.duties (
  name text primary key,
  done_at timestamptz not null
);
alter table leasehold.duties add column if not exists taken_by uuid;

create or replace function leasehold.worker_channel(p_worker text) returns text
language sql immutable strict parallel safe as $$ -- without settings of its own, so that the planner puts it in place
  select 'lh_' || pg_catalog.to_hex(pg_catalog.hashtextextended('leasehold ' || p_worker, 2))
$$;

create or replace function leasehold.session_lock(p_worker text) returns bigint
language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
  select hashtextextended('leasehold ' || p_worker, 3)
$$;

-- What a worker says of its failing queues, with the time since when each of them fails.
create or replace function leasehold.failing_since(p_before jsonb, p_failing jsonb, p_now timestamptz) returns jsonb
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_object_agg(e.key, e.value || jsonb_build_object('since', coalesce(p_before -> e.key -> 'since', to_jsonb(p_now)))), '{}')
  from jsonb_each(p_failing) e
$$;

-- Tells the workers that asked for it in these buckets of a queue. wake_wish holds, per queue, a text of 0 and 1, one for each bucket.
-- Beyond twenty buckets the notification names none, and the worker looks at all of its own.
create or replace function leasehold.wake_workers(p_queue text, p_buckets int[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  perform pg_notify(leasehold.worker_channel(t.id), p_queue || ':' ||
    case when cardinality(t.buckets) <= 20 then array_to_string(t.buckets, ',') else '' end)
  from (select w.id, array_agg(b order by b) as buckets
        from leasehold.workers w cross join (select distinct u from unnest(p_buckets) u) as d(b)
        where w.status = 'alive' and w.wake_wish ? p_queue and substr(w.wake_wish ->> p_queue, b + 1, 1) = '1'
        group by w.id order by w.id) t;
end
$$;

-- One look of the watcher, in its own session. Whoever is not the watcher yet tries to become it: that is a session-level lock, held until
-- the session ends. Writes free_since for workers whose session lock is free, takes it back when it is held again, and marks dead
-- those that were free for the grace. A beat sets free_since to its own time: a process that beats lives, whatever its session does, and its answer tells it to open another. The grace starts again for all when the watcher is new or has just reconnected, and while more than half of
-- the fleet is free at once, which is what a restarted server looks like. Then only the TTL counts.
-- Locks: worker rows in the order of their ids, skip locked. Session locks are tried and given back at once, never waited for.
create or replace function leasehold.watch_workers(p_worker text, p_is_watcher boolean, p_grace_ms float8, p_now timestamptz)
returns table (is_watcher boolean, marked text[], next_ms float8)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_now timestamptz := coalesce(leasehold.allowed_now(p_now), clock_timestamp());
  v_free text[]; v_all int; v_marked text[]; v_next float8;
  v_restart boolean := not p_is_watcher;
begin
  if not p_is_watcher and not pg_try_advisory_lock(leasehold.lock_class('leasehold.workers'::regclass), 0) then
    return query select false, '{}'::text[], null::float8;
    return;
  end if;
  update leasehold.workers w set is_watcher = true where w.id = p_worker and not w.is_watcher;
  select coalesce(array_agg(f.id) filter (where f.is_free), '{}'), count(*) into v_free, v_all from (
    select w.id, case when w.id = p_worker then false
                      when pg_try_advisory_lock(leasehold.session_lock(w.id)) then pg_advisory_unlock(leasehold.session_lock(w.id))
                      else false end as is_free
    from leasehold.workers w where w.status <> 'dead' and w.has_session order by w.id offset 0) f;
  v_restart := v_restart or cardinality(v_free) * 2 > v_all;
  with looked as materialized (
    select w.id, w.free_since, w.id = any(v_free) as is_free from leasehold.workers w
    where w.status <> 'dead' and w.has_session and (w.id = any(v_free) or w.free_since is not null)
    order by w.id for update skip locked
  ), judged as (
    select l.id, l.is_free, case when not l.is_free then null when v_restart then v_now else coalesce(l.free_since, v_now) end as free_since
    from looked l
  ), written as (
    update leasehold.workers w set free_since = j.free_since,
      status = case when j.free_since <= v_now - p_grace_ms * interval '1 ms' then 'dead' else w.status end
    from judged j where w.id = j.id
    returning w.id, w.status, w.free_since
  )
  select coalesce(array_agg(r.id order by r.id) filter (where r.status = 'dead'), '{}'),
         min(extract(epoch from r.free_since - v_now) * 1000 + p_grace_ms) filter (where r.status <> 'dead')
  into v_marked, v_next from written r;
  if cardinality(v_marked) > 0 then
    perform leasehold.note_history('worker:dead', null, m, null, jsonb_build_object('rule', 'session', 'watcher', p_worker), v_now) from unnest(v_marked) m;
    perform pg_notify('leasehold_ring', 'dead');
  end if;
  return query select true, v_marked, v_next;
end
$$;

-- A DELETE on the view worker_lease evicts: the worker is marked dead, which is told, its buckets move and its rows are taken over. One that was
-- evicted by mistake registers again with a higher generation.
create or replace function leasehold.evict_worker() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  update leasehold.workers set status = 'dead', left_at = null where id = old.worker_id and status <> 'dead';
  if found then perform leasehold.note_history('worker:evicted', null, old.worker_id, null, null, null); end if;
  perform pg_notify('leasehold_ring', 'evicted');
  return old;
end
$$;

create or replace trigger worker_lease_evict instead of delete on leasehold.worker_lease
  for each row execute function leasehold.evict_worker();
