--! scope: schema
--
-- What happened to the fleet and to queues, for timelines and as an audit log. Each entry is written by the statement that does what it tells of, so it commits with it or
-- not at all; what only a worker sees (buckets that moved, leases that it lost) is written by that worker. Housekeeping keeps a week, and at most 100 000 entries.
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
-- actor is the role that was logged in, application what its connection calls itself.

create sequence if not exists leasehold.history_ids;
create table if not exists leasehold.history (
  id bigint primary key default nextval('leasehold.history_ids'),
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

-- For functions; statements insert by themselves.
create or replace function leasehold.note_history(p_kind text, p_queue text, p_worker text, p_count bigint, p_detail jsonb, p_now timestamptz) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into leasehold.history (at, kind, queue, worker_id, count, detail)
  values (coalesce(p_now, clock_timestamp()), p_kind, p_queue, p_worker, p_count, coalesce(p_detail, '{}'))
$$;

-- Deletes what is older than a week, and what is beyond 100 000 entries, 10 000 a call. Runs as its owner: a worker's role may write entries and trim them, not choose which.
create or replace function leasehold.trim_history(p_now timestamptz) returns bigint
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  with gone as (
    delete from leasehold.history h where h.id in (
      select o.id from leasehold.history o
      where o.at < coalesce(leasehold.allowed_now(p_now), clock_timestamp()) - interval '7 days'
         or o.id <= (select max(l.id) from leasehold.history l) - 100000
      order by o.id limit 10000 for update skip locked)
    returning 1
  )
  select count(*) from gone
$$;
