-- Tenants: who runs which. What the rows mean: migration 0014. Every write names the process and the token it holds or has seen.

-- name: list_tenant_leases
-- Locks nothing. All leases of a supervisor, or those named, as one JSON array, because ten thousand rows are read many times faster so:
-- [tenant, owner, isMine, token, state, heir, region, source, isLost].
-- nullable: now, only
-- row: leases json
select coalesce(json_agg(json_build_array(l.tenant, l.owner, l.owner = :worker_id::text and l.incarnation = :incarnation::text, l.token::text, l.state, l.heir, l.region, l.source,
    l.owner is not null and leasehold.tenant_is_lost(l.incarnation, w, :grace_ms::float8, coalesce(:now::timestamptz, clock_timestamp()))) order by l.tenant), '[]') as leases
from leasehold.tenant_leases l left join leasehold.workers w on w.id = l.owner
where l.supervisor = :supervisor::text and (:only::text[] is null or l.tenant = any(:only::text[]));

-- name: win_tenants
-- Locks the rows named, in the order of their names, by tenant_leases_pkey. Wins what is free or lost, or the caller's own already, if its token is still the one seen (0 for no row), and
-- only for a worker that is alive. A token is drawn after the one seen was, so it is higher.
-- nullable: now
-- row: tenant text, token bigint
with t as materialized (
  select coalesce(:now::timestamptz, clock_timestamp()) as now
), wanted as materialized (
  select u.tenant, u.seen, nullif(u.region, '') as region, u.source, nextval('leasehold.lease_tokens') as token, t.now
  from unnest(:tenants::text[], :seen::bigint[], :regions::text[], :sources::text[]) as u(tenant, seen, region, source) cross join t
  where exists (select 1 from leasehold.workers w
                where w.id = :worker_id::text and w.incarnation = :incarnation::text and w.status = 'alive' and w.last_seen_at + w.ttl > t.now)
  order by u.tenant collate "C"
)
insert into leasehold.tenant_leases as l (supervisor, tenant, owner, incarnation, token, state, region, source, since)
select :supervisor::text, n.tenant, :worker_id::text, :incarnation::text, n.token, 'running', n.region, n.source, n.now from wanted n order by n.tenant collate "C"
on conflict (supervisor, tenant) do update set owner = excluded.owner, incarnation = excluded.incarnation, token = excluded.token, state = 'running', heir = null,
  region = excluded.region, source = excluded.source, since = excluded.since, expires_at = null
  where l.token = (select n.seen from wanted n where n.tenant = l.tenant)
    and (l.owner is null or l.owner = excluded.owner and l.incarnation = excluded.incarnation
         or not exists (select 1 from leasehold.workers w where w.id = l.owner)
         or (select leasehold.tenant_is_lost(l.incarnation, w, :grace_ms::float8, excluded.since) from leasehold.workers w where w.id = l.owner))
returning l.tenant, l.token;

-- name: drain_tenants
-- Locks the rows named, in the order of their names, by tenant_leases_pkey. Says who is to go on with what its owner is ending.
-- nullable: now
-- row: tenant text
with named as materialized (
  select l.tenant, nullif(u.heir, '') as heir from unnest(:tenants::text[], :tokens::bigint[], :heirs::text[]) as u(tenant, token, heir)
  join leasehold.tenant_leases l on l.supervisor = :supervisor::text and l.tenant = u.tenant and l.token = u.token
  where l.owner = :worker_id::text and l.incarnation = :incarnation::text
  order by l.tenant for update of l
), t as (select coalesce(:now::timestamptz, clock_timestamp()) as now)
update leasehold.tenant_leases l set state = 'draining', heir = n.heir, since = t.now, expires_at = t.now + :limit_ms::float8 * interval '1 ms'
from named n cross join t where l.supervisor = :supervisor::text and l.tenant = n.tenant
returning l.tenant;

-- name: free_tenants
-- Locks the rows named, in the order of their names, by tenant_leases_pkey. Gives up what is still ours, for somebody else to run, and wakes the heirs; everybody where there is none.
-- nullable: now
-- row: tenant text
with named as materialized (
  select l.tenant, l.heir from unnest(:tenants::text[], :tokens::bigint[]) as u(tenant, token)
  join leasehold.tenant_leases l on l.supervisor = :supervisor::text and l.tenant = u.tenant and l.token = u.token
  where l.owner = :worker_id::text and l.incarnation = :incarnation::text
  order by l.tenant for update of l
), freed as (
  update leasehold.tenant_leases l set owner = null, incarnation = null, state = 'free', since = coalesce(:now::timestamptz, clock_timestamp()), expires_at = null
  from named n where l.supervisor = :supervisor::text and l.tenant = n.tenant
  returning l.tenant, n.heir
), told as materialized (
  select case when h.heir is null then pg_notify('leasehold_ring', 'tenants:' || :supervisor::text)
              else pg_notify(leasehold.worker_channel(h.heir), 'tenants:' || :supervisor::text || ':') end
  from (select distinct f.heir from freed f) h
)
select f.tenant from freed f cross join (select count(*) from told) n;

-- name: drop_tenants
-- Locks the rows named, in the order of their names, by tenant_leases_pkey. They are cold now; what somebody else has taken meanwhile stays.
-- nullable: now
-- row: tenant text
with named as materialized (
  select l.tenant from unnest(:tenants::text[], :tokens::bigint[]) as u(tenant, token)
  join leasehold.tenant_leases l on l.supervisor = :supervisor::text and l.tenant = u.tenant and l.token = u.token
  left join leasehold.workers w on w.id = l.owner
  where l.owner is null or l.owner = :worker_id::text and l.incarnation = :incarnation::text
    or leasehold.tenant_is_lost(l.incarnation, w, :grace_ms::float8, coalesce(:now::timestamptz, clock_timestamp()))
  order by l.tenant for update of l
)
delete from leasehold.tenant_leases l using named n where l.supervisor = :supervisor::text and l.tenant = n.tenant
returning l.tenant;

-- name: list_handled
-- Locks nothing; by handled_pkey.
-- row: message_id text
select h.message_id from leasehold.handled h where h.handler = :handler::text and h.message_id = any(:message_ids::text[]);
