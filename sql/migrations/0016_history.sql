--! scope: schema
--
-- What happened to the fleet and to queues, for timelines and as an audit log. Each entry is written by the statement that does what it tells of, so it commits with it or
-- not at all; what only a worker sees (buckets that moved, leases that it lost) is written by that worker. Housekeeping keeps a week, and of each actor at most 100 000 entries.
--
--   worker:joined        it registered; detail: why, generation, starts (processes that had its id), hostname, pid
--   worker:left          it stopped in good order
--   worker:dead          it was marked dead; detail: rule (ttl, session, stopped: it stopped and left jobs behind)
--   worker:evicted       a person did it
--   worker:drain_asked   a person asked it to stop in good order; its next heartbeat reads the request
--   worker:failing, worker:recovered    its claims or settles of a queue always fail, or work again
--   buckets:moved        the worker gained or lost buckets; detail: gained, lost, and joined and left: the workers whose coming or going moved them
--   rows:taken_over      detail: from (who held them), rule (lease, dead, unknown_token), dead_letters
--   lease:lost           the worker found that jobs it held belong to somebody else
--   jobs:redriven, jobs:discarded, queue:created, queue:changed, queue:paused, queue:resumed, queue:dropped    by a person;
--                        detail of the first two: filter and reason as the person gave them
--
-- actor is the role that was logged in, application what its connection calls itself. A role can choose none of id, at and actor: the trigger below fills in the first two.

create sequence if not exists leasehold.history_ids;
create table if not exists leasehold.history (
  id bigint primary key,
  at timestamptz not null,
  kind text not null,
  queue text,
  worker_id text,
  count bigint,
  actor text not null default session_user,
  application text not null default coalesce(current_setting('application_name', true), ''),
  detail jsonb not null default '{}'
);
create index if not exists history_at on leasehold.history (at);

-- The id and the time of an entry. Runs as its owner, so that no role needs a right on the sequence, by which it could draw ids without storing them. Only those who may set the time of a call
-- (allowed_now) keep the time that they give, for tests; as there, what counts is the role that the session has taken, or who has logged in.
create or replace function leasehold.stamp_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.id := nextval('leasehold.history_ids');
  if not pg_has_role(coalesce(nullif(current_setting('role'), 'none')::name, session_user), (select n.nspowner from pg_namespace n where n.nspname = 'leasehold'), 'usage') then
    new.at := clock_timestamp();
  end if;
  return new;
end
$$;
create or replace trigger history_stamped before insert on leasehold.history
  for each row execute function leasehold.stamp_history();

-- For functions; statements insert by themselves.
create or replace function leasehold.note_history(p_kind text, p_queue text, p_worker text, p_count bigint, p_detail jsonb, p_now timestamptz) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into leasehold.history (at, kind, queue, worker_id, count, detail)
  values (coalesce(p_now, clock_timestamp()), p_kind, p_queue, p_worker, p_count, coalesce(p_detail, '{}'))
$$;

-- Deletes what is older than a week, and of each actor what is beyond its newest 100 000 entries, 10 000 a call. Entries are counted: ids that were drawn and not stored would make old entries look far
-- back, and an actor that floods the history loses its own entries only. Runs as its owner: a worker's role may write entries and trim them, not choose which.
create or replace function leasehold.trim_history(p_now timestamptz) returns bigint
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_before timestamptz := coalesce(leasehold.allowed_now(p_now), clock_timestamp()) - interval '7 days';
  v_beyond bigint[] := '{}';
  v_count bigint;
begin
  if (select count(*) from leasehold.history) > 100000 then
    v_beyond := array(
      select n.id from (select h.id, row_number() over (partition by h.actor order by h.id desc) as place from leasehold.history h) n
      where n.place > 100000 order by n.id limit 10000);
  end if;
  with gone as (
    delete from leasehold.history h where h.id in (
      select o.id from leasehold.history o where o.at < v_before or o.id = any(v_beyond) order by o.id limit 10000 for update skip locked)
    returning 1
  )
  select count(*) into v_count from gone;
  return v_count;
end
$$;
