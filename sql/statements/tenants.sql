-- Tenants: who runs which. What the rows mean: migration 0014. Every write names the process and the token it holds or has seen.

-- name: list_tenant_leases
-- Locks nothing. All leases of a supervisor, or those named, in groups that differ only in tenant and token, as JSON: ten thousand rows are read many times faster so. In no order.
-- [owner, isMine, state, heir, region, source, isLost, tenants, tokens].
-- nullable: now, only
-- row: leases json
select coalesce(json_agg(json_build_array(g.owner, g.owner = :worker_id::text and g.incarnation = :incarnation::text, g.state, g.heir, g.region, g.source,
    g.owner is not null and leasehold.tenant_is_lost(g.incarnation, w, :grace_ms::float8, coalesce(:now::timestamptz, clock_timestamp())), g.tenants, g.tokens)), '[]') as leases
from (
  select l.owner, l.incarnation, l.state, l.heir, l.region, l.source, json_agg(l.tenant) as tenants, json_agg(l.token::text) as tokens
  from leasehold.tenant_leases l
  where l.supervisor = :supervisor::text and (:only::text[] is null or l.tenant = any(:only::text[]))
  group by 1, 2, 3, 4, 5, 6
) g left join leasehold.workers w on w.id = g.owner;

-- name: win_tenants
-- Locks the rows named, in the order of their names, by tenant_leases_pkey; then inserts those that were seen not to exist, in the same order. Wins what is free or lost, or the caller's own
-- already, if its token is still the one seen (0 for no row), and only for a worker that is alive. A token is drawn after the one seen was, so it is higher.
-- nullable: now
-- row: tenant text, token bigint
with t as materialized (
  select coalesce(:now::timestamptz, clock_timestamp()) as now
), wanted as materialized (
  select u.tenant, u.seen, nullif(u.region, '') as region, u.source, leasehold.next_token() as token, t.now
  from unnest(:tenants::text[], :seen::bigint[], :regions::text[], :sources::text[]) as u(tenant, seen, region, source) cross join t
  where exists (select 1 from leasehold.workers w
                where w.id = :worker_id::text and w.incarnation = :incarnation::text and w.status = 'alive' and w.last_seen_at + w.ttl > t.now)
  order by u.tenant collate "C"
), locked as materialized (
  select n.* from wanted n join leasehold.tenant_leases l on l.supervisor = :supervisor::text and l.tenant = n.tenant
  where l.token = n.seen
    and (l.owner is null or l.owner = :worker_id::text and l.incarnation = :incarnation::text
         or not exists (select 1 from leasehold.workers w where w.id = l.owner)
         or (select leasehold.tenant_is_lost(l.incarnation, w, :grace_ms::float8, n.now) from leasehold.workers w where w.id = l.owner))
  order by l.tenant for update of l
), taken as (
  update leasehold.tenant_leases l set owner = :worker_id::text, incarnation = :incarnation::text, token = n.token, state = 'running', heir = null,
    region = n.region, source = n.source, since = n.now, expires_at = null
  from locked n where l.supervisor = :supervisor::text and l.tenant = n.tenant
  returning l.tenant, l.token
), begun as (
  insert into leasehold.tenant_leases (supervisor, tenant, owner, incarnation, token, state, region, source, since)
  select :supervisor::text, n.tenant, :worker_id::text, :incarnation::text, n.token, 'running', n.region, n.source, n.now
  from wanted n where n.seen = 0 order by n.tenant collate "C"
  on conflict (supervisor, tenant) do nothing
  returning tenant, token
)
select k.tenant, k.token from taken k union all select b.tenant, b.token from begun b;

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

-- name: keep_tenants
-- Locks the rows named, in the order of their names, by tenant_leases_pkey. They stay where they are after all, or are hot for another reason now.
-- row: tenant text
with named as materialized (
  select l.tenant, nullif(u.region, '') as region, u.source from unnest(:tenants::text[], :tokens::bigint[], :regions::text[], :sources::text[]) as u(tenant, token, region, source)
  join leasehold.tenant_leases l on l.supervisor = :supervisor::text and l.tenant = u.tenant and l.token = u.token
  where l.owner = :worker_id::text and l.incarnation = :incarnation::text
  order by l.tenant for update of l
)
update leasehold.tenant_leases l set state = 'running', heir = null, expires_at = null, region = n.region, source = n.source
from named n where l.supervisor = :supervisor::text and l.tenant = n.tenant
returning l.tenant;

-- name: list_own_tenants
-- Locks nothing. What the caller still holds, when it has nothing any more.
-- row: tenant text, token bigint
select l.tenant, l.token from leasehold.tenant_leases l
where l.supervisor = :supervisor::text and l.owner = :worker_id::text and l.incarnation = :incarnation::text
order by l.tenant;

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
