--! scope: schema
--
-- Who runs which tenant. One row of `tenant_leases` per hot tenant and supervisor; src/tenants/README.md is the essay.
--
--   no row      cold
--   free        hot, and nobody runs it
--   running     its owner, the process of this `incarnation`, runs it under `token`; only that process writes the row
--   draining    its owner is ending it, at the latest at `expires_at`, and names the `heir` that is to go on
--
-- A lease lasts as long as its owner's life in `workers`: nothing renews it, so a heartbeat is one write however many tenants a process has. Others may take it
-- when it is free, or when tenant_is_lost() says that whoever ran it has been told, by its own clock or its own session, to have stopped. Every taking draws
-- a token from the sequence that jobs use too, and names the token it has seen: of two that try, one wins, and a statement that comes late changes nothing.

alter table leasehold.tenant_leases add column if not exists supervisor text collate "C" not null default 'tenants';
alter table leasehold.tenant_leases add column if not exists incarnation text;                       -- which process of the owner's id
alter table leasehold.tenant_leases add column if not exists heir text;                              -- who is to go on
alter table leasehold.tenant_leases add column if not exists region text;                            -- where it should run, if somebody lives there
alter table leasehold.tenant_leases add column if not exists source text not null default 'listed';  -- what made it hot
alter table leasehold.tenant_leases add column if not exists since timestamptz not null default now(); -- of the state

alter table leasehold.tenant_leases drop constraint if exists tenant_leases_pkey;
alter table leasehold.tenant_leases add constraint tenant_leases_pkey primary key (supervisor, tenant);
alter table leasehold.tenant_leases drop constraint if exists tenant_leases_source_check;
alter table leasehold.tenant_leases add constraint tenant_leases_source_check check (source in ('listed', 'promoted', 'policy', 'task'));
alter table leasehold.tenant_leases set (fillfactor = 50);

-- Since when it has been alive without a break: a process that was marked dead and came back counts as new.
alter table leasehold.workers add column if not exists alive_since timestamptz not null default now();
-- When it last registered after a life that did not end in good order: it crashed, was not seen, or was evicted.
alter table leasehold.workers add column if not exists lost_at timestamptz;
-- Earlier processes of this id that were not known to be gone when their id was taken: incarnation -> until when, in seconds, it may still believe in its leases.
alter table leasehold.workers add column if not exists predecessors jsonb not null default '{}';

-- Whether whoever held a lease has stopped by its own rules: its TTL is over; or its session has been free for the grace, which it notices itself and gives itself two
-- thirds of; or it has left in good order. An eviction is none of these: the evicted process is told, stops, and lets go itself, or its TTL runs out.
create or replace function leasehold.tenant_is_lost(p_incarnation text, p_owner leasehold.workers, p_grace_ms float8, p_now timestamptz) returns boolean
language sql stable as $$ -- without settings of its own, so that the planner puts it in place
  select case
    when (p_owner).id is null then true
    when (p_owner).incarnation is distinct from p_incarnation then coalesce(((p_owner).predecessors ->> p_incarnation)::float8 <= extract(epoch from p_now), true)
    when (p_owner).last_seen_at + (p_owner).ttl <= p_now then true
    else (p_owner).status = 'dead' and ((p_owner).left_at is not null or (p_owner).has_session and coalesce((p_owner).free_since <= p_now - p_grace_ms * interval '1 ms', false))
  end
$$;

-- What a worker's row says of earlier processes when another one takes its id, or the same one registers again. It has its own end for each: one that restarts over and over would
-- otherwise put off the end of the first. What is over is left out.
create or replace function leasehold.predecessors_of(p_row leasehold.workers, p_incarnation text, p_has_session boolean, p_grace_ms float8, p_now timestamptz) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce((select jsonb_object_agg(e.key, e.value) from jsonb_each((p_row).predecessors) e where e.value::float8 > extract(epoch from p_now)), '{}')
    || case when (p_row).incarnation is null or (p_row).incarnation = p_incarnation or leasehold.tenant_is_lost((p_row).incarnation, p_row, p_grace_ms, p_now) then '{}'
         else jsonb_build_object((p_row).incarnation, extract(epoch from least((p_row).last_seen_at + (p_row).ttl,
           case when (p_row).has_session and p_has_session then p_now + p_grace_ms * interval '1 ms' end))) end
$$;
