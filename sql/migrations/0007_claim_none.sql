--! scope: queue
--! order: none
--
-- The claim of a queue with order: none. Every row is on its own, so no bucket is locked: rows are locked with skip locked, in
-- the order of the index inbox_line, which is priority (low first), then due time, then place. A retry in backoff is
-- `scheduled`, so everything in line is due and a claim never walks over what it may not take.
--
-- The first round takes an even share from every bucket, so that a deep bucket does not hide an urgent row in another one;
-- the second fills up from wherever there is more. The token is drawn when the row locks are held: a row that another
-- claim had and gave back in between gets the higher one.
--
-- Lost rows sit in front of what is pending, so only the rows before the first pending one of each bucket are looked at. One that
-- has newer, more urgent rows before it is found when those have been claimed.
--
-- One row without an id and a bucket tells what was left, as in 0006.

create index if not exists inbox_line on leasehold.inbox (partition_bucket, priority, available_at, seq) where in_line;

create or replace function leasehold.inbox_claim(p_worker text, p_buckets int[], p_after text[], p_limit int, p_run int,
  p_retries int, p_suspects int, p_lease_ms bigint, p_known bigint[], p_now timestamptz)
returns table (id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int,
  attempts int, crashes int, max_attempts int, priority int, claimed_at timestamptz, lease_expires_at timestamptz,
  lease_generation bigint, available_at timestamptz, created_at timestamptz, idempotency_key text, last_error text)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  c_look constant int := 200;  -- rows in process of a bucket that are looked at
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_share int := greatest(1, ceil(p_limit::float8 / greatest(1, cardinality(p_buckets))));
  v_dead text[]; v_lost uuid[]; v_token bigint; v_more tid[]; v_nth int[]; v_crashes int[]; v_over int[];
  w record;
begin
  perform leasehold.assert_read_committed();
  perform 1 from leasehold.queues q where q.name = 'inbox' and q.paused_at is null;
  if not found and p_limit > 0 then return; end if;
  perform leasehold.inbox_promote(p_buckets, 1000, v_now);
  select coalesce(array_agg(k.id), '{}') into v_dead from leasehold.workers k where k.status = 'dead' and k.left_at is null;
  perform leasehold.assert_not_dead(p_worker, v_dead);
  v_lost := leasehold.inbox_find_lost(p_buckets, c_look, p_worker, p_known, v_dead, v_now);
  if v_lost is not null then
    perform leasehold.inbox_recover(v_lost, v_lost, p_worker, p_known, v_dead, v_now);
  end if;
  if p_limit < 1 then return; end if;

  select array_agg(t.tid) as tids, array_agg(t.attempts) as attempts, array_agg(t.crashes) as crashes into w
  from leasehold.inbox_pick(p_buckets, v_share, p_limit, v_now) t;
  if coalesce(cardinality(w.tids), 0) < p_limit and v_share < p_limit then
    select w.tids || array_agg(t.tid), w.attempts || array_agg(t.attempts), w.crashes || array_agg(t.crashes)
    into w.tids, w.attempts, w.crashes
    from leasehold.inbox_pick(p_buckets, p_limit, p_limit, v_now) t where t.tid <> all(coalesce(w.tids, '{}'));
  end if;
  if w.tids is null then
    return query select * from leasehold.inbox_rest(0, 0, leasehold.inbox_next_due(p_buckets, v_now));
    return;
  end if;
  w.tids := w.tids[1:p_limit];
  select array_agg(t.nth), array_agg(t.crashes) into v_nth, v_crashes
  from unnest(w.tids, w.attempts, w.crashes) with ordinality t(tid, attempts, crashes, nth) where t.attempts > 0 and t.tid is not null;
  v_over := leasehold.over_budget(v_nth, v_crashes, p_retries, p_suspects);
  select array_agg(t.tid) into v_more from unnest(w.tids) with ordinality t(tid, nth) where t.nth <> all(v_over);
  return query select * from leasehold.inbox_rest(leasehold.left_out(v_nth, v_crashes, v_over, p_suspects), 0, null);
  if v_more is null then return; end if;

  v_token := nextval('leasehold.lease_tokens');
  return query with claimed as (
    update leasehold.inbox j set status = 'processing', claimed_by = p_worker, claimed_at = v_now,
      lease_expires_at = v_now + p_lease_ms * interval '1 ms', lease_generation = v_token, attempts = j.attempts + 1
    where j.ctid = any(v_more)
    returning j.*)
  select c.id, c.seq, c.kind, c.payload, c.headers, c.partition_key, c.partition_bucket, c.attempts, c.crashes, c.max_attempts,
         c.priority, c.claimed_at, c.lease_expires_at, c.lease_generation, c.available_at, c.created_at, c.idempotency_key,
         c.last_error
  from claimed c order by c.priority, c.available_at, c.seq;
end
$$;

-- Locks (skip locked) up to p_share pending rows of each bucket, p_limit in all, by the index inbox_line.
create or replace function leasehold.inbox_pick(p_buckets int[], p_share int, p_limit int, p_now timestamptz)
returns table (tid tid, attempts int, crashes int)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
begin
  return query select r.tid, r.attempts, r.crashes from unnest(p_buckets) b cross join lateral (
    select j.ctid as tid, j.attempts, j.crashes from leasehold.inbox j
    where j.in_line and j.partition_bucket = b and j.status = 'pending' and j.available_at <= p_now
    order by j.priority, j.available_at, j.seq limit p_share for update skip locked) r
  limit p_limit;
end
$$;

-- Rows in process whose lease ran out, whose worker is marked dead, or which are the caller's own under a token it does not know.
create or replace function leasehold.inbox_find_lost(p_buckets int[], p_look int, p_worker text, p_known bigint[], p_dead text[],
  p_now timestamptz) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
  v_ids uuid[];
begin
  select array_agg(r.id) into v_ids from unnest(p_buckets) b
  left join lateral (
    select j.priority, j.available_at, j.seq from leasehold.inbox j
    where j.in_line and j.partition_bucket = b and j.status = 'pending'
    order by j.priority, j.available_at, j.seq limit 1) f on true
  cross join lateral (
    select j.id, j.status, j.claimed_by, j.lease_expires_at, j.lease_generation from leasehold.inbox j
    where j.in_line and j.partition_bucket = b and (j.priority, j.available_at, j.seq)
      < (coalesce(f.priority, 2147483647), coalesce(f.available_at, 'infinity'), coalesce(f.seq, 9223372036854775807))
    order by j.priority, j.available_at, j.seq limit p_look) r
  where r.status = 'processing' and (r.lease_expires_at <= p_now or r.claimed_by = any(p_dead)
    or (p_known is not null and r.claimed_by = p_worker and r.lease_generation <> all(p_known)));
  return v_ids;
end
$$;
