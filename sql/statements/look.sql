-- For operators: what is stored about queues, their history and tenants. Nothing here locks.

-- name: list_queue_settings
-- Locks nothing; a row per queue.
-- row: name text, order text, is_strict boolean, on_dead_letter text, buckets int, ring text, vnodes int, prefer_regions text[], exclude_regions text[], retention_ms float8, dead_letter_retention_ms float8, dedupe_window_ms float8
-- row: max_attempts int, max_crashes int, kinds jsonb, paused_at timestamptz?, created_at timestamptz
select name, "order", is_strict, on_dead_letter, buckets, ring, vnodes, prefer_regions, exclude_regions,
       (extract(epoch from retention) * 1000)::float8 as retention_ms,
       (extract(epoch from dead_letter_retention) * 1000)::float8 as dead_letter_retention_ms,
       (extract(epoch from dedupe_window) * 1000)::float8 as dedupe_window_ms, max_attempts, max_crashes, kinds, paused_at, created_at
from leasehold.queues where dropped_at is null order by name;

-- name: list_samples
-- Locks nothing; by samples_pkey. The newest samples of the range, as many as asked for, oldest first.
-- nullable: from, to
-- row: taken_at timestamptz, counts jsonb
select s.taken_at, s.counts from (
  select n.taken_at, n.counts from leasehold.samples n
  where n.queue = :queue::text and n.taken_at >= coalesce(:from::timestamptz, '-infinity') and n.taken_at <= coalesce(:to::timestamptz, 'infinity')
  order by n.taken_at desc limit :limit::int) s
order by s.taken_at;

-- name: list_tenant_rows
-- Locks nothing; reads a table with a row per hot tenant. By tenant, then by supervisor. A page begins behind the tenant given and has all supervisors of its last tenant, so that none is lost between
-- two pages. A lease that runs lasts as long as its owner is seen.
-- nullable: owner, after
-- row: supervisor text, tenant text, owner text?, token bigint, state text, region text?, since timestamptz, expires_at timestamptz?
select p.supervisor, p.tenant, p.owner, p.token, p.state, p.region, p.since, p.expires_at from (
  select l.supervisor, l.tenant, l.owner, l.token, l.state, l.region, l.since, coalesce(l.expires_at, w.last_seen_at + w.ttl) as expires_at
  from leasehold.tenant_leases l left join leasehold.workers w on w.id = l.owner and w.incarnation = l.incarnation
  where (:owner::text is null or l.owner = :owner) and (:after::text is null or l.tenant > :after)
  order by l.tenant fetch first (:limit::int) rows with ties) p
order by p.tenant, p.supervisor;

-- name: find_bucket
-- Locks nothing, reads no table.
-- row: bucket int
select leasehold.bucket_of(:key::text, :buckets::int) as bucket;
