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
-- Until when an earlier process of this id, that was not known to be gone when this one took the id, may still believe in its leases.
alter table leasehold.workers add column if not exists predecessor_until timestamptz;

-- Whether whoever held a lease has stopped by its own rules: its TTL is over; or its session has been free for the grace, which it notices itself and gives itself two
-- thirds of; or it has left in good order. An eviction is none of these: the evicted process is told, stops, and lets go itself, or its TTL runs out.
create or replace function leasehold.tenant_is_lost(p_incarnation text, p_owner leasehold.workers, p_grace_ms float8, p_now timestamptz) returns boolean
language sql stable as $$ -- without settings of its own, so that the planner puts it in place
  select case
    when (p_owner).id is null then true
    when (p_owner).incarnation is distinct from p_incarnation then coalesce((p_owner).predecessor_until <= p_now, true)
    when (p_owner).last_seen_at + (p_owner).ttl <= p_now then true
    else (p_owner).status = 'dead' and ((p_owner).left_at is not null or (p_owner).has_session and coalesce((p_owner).free_since <= p_now - p_grace_ms * interval '1 ms', false))
  end
$$;

revoke all on all functions in schema leasehold from public;
