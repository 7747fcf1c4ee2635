--! scope: queue
--! order: none
--
-- The claim of a queue with order: none. Every row is on its own, so no bucket is locked: rows are locked with skip locked, in
-- the order of the index inbox_line, which is priority (low first), then due time, then place. A retry in backoff is
-- `scheduled`, so everything in line is due and a claim never walks over what it may not take.
--
-- The first round takes an even share from every bucket, so that a deep bucket does not hide an urgent row in another one;
-- the second fills up from buckets that had more. The token is drawn when the row locks are held: a row that another
-- claim had and gave back in between gets the higher one.
--
-- Lost rows sit in front of what is pending, so they are met on the way and given back first. One that
-- has newer, more urgent rows before it is found when those have been claimed.
--
-- p_after may hold a position for each bucket, as priority:microseconds:seq; then only rows beyond it are looked at ('' or null: from the front).
-- For speed alone: entries of finished rows that no vacuum may remove are not walked over again. What appeared before a position is found from the front.
-- With a ~ the claim begins at the first unfinished row in line that is at this position or behind it, or more urgent ('~': at the first of all), and tells where that
-- is, in a row of the kind `front`: whoever begins there next time meets every row that is in process or waiting now, lost ones too. Where there is none it tells a place a
-- minute ago.
--
-- A caller who keeps positions and lacks kinds is told, in rows of the kind `end`, up to where a bucket has nothing for it: the last row that is older than a minute. It was looked at
-- by this claim, which was neither filled nor cut by p_bytes; so a backlog of other kinds is not walked over by every claim. What is given back or commits before that place is found from the front.
--
-- One row without an id and a bucket tells what was left, as in 0006. p_run, p_keys, p_floors and p_turns are of no use here.

create index if not exists inbox_line on leasehold.inbox (partition_bucket, priority, available_at, seq) where in_line;
drop function if exists leasehold.inbox_pick(int[], int, int, timestamptz);
drop function if exists leasehold.inbox_pick(int[], int, int, text, bigint[], text[], timestamptz);
drop function if exists leasehold.inbox_pick(int[], text[], int, int, text, bigint[], text[], timestamptz);

drop function if exists leasehold.inbox_claim(text, int[], text[], int, int, int, int, bigint, bigint[], timestamptz);
drop function if exists leasehold.inbox_claim(text, int[], text[], int, int, int, int, bigint, bigint[], timestamptz, text[], bigint[], bigint[]);
drop function if exists leasehold.inbox_claim(text, int[], text[], int, int, int, int, bigint, bigint[], timestamptz, text[], bigint[], bigint[], bigint);
drop function if exists leasehold.inbox_claim(text, int[], text[], int, int, int, int, bigint, bigint[], timestamptz, text[], bigint[], bigint[], bigint, bigint);
create or replace function leasehold.inbox_claim(p_worker text, p_buckets int[], p_after text[], p_limit int, p_run int,
  p_retries int, p_suspects int, p_lease_ms bigint, p_known bigint[], p_now timestamptz, p_keys text[] default null,
  p_floors bigint[] default null, p_turns bigint[] default null, p_generation bigint default null, p_bytes bigint default 8388608,
  p_kinds text[] default null)
returns table (id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int,
  attempts int, crashes int, max_attempts int, priority int, claimed_ms float8, expires_ms float8,
  lease_generation bigint, available_ms float8, created_ms float8, idempotency_key text, last_error text)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set lock_timeout = '100ms' as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(leasehold.allowed_now(p_now), clock_timestamp());
  v_share int;
  c_none constant interval := '1 minute';  -- where there is no row, what is found later counts from this long ago
  c_look constant int := 200;  -- rows of a bucket that are looked at when nothing is to be taken
  v_dead text[]; v_lost uuid[]; v_deep int[]; v_after text[] := p_after; v_buckets int[] := p_buckets; v_token bigint; v_over int[] := '{}';
  v_left int := 0; v_bytes bigint := 0; v_is_cut boolean := false;
  w record; m record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then perform leasehold.assert_read_committed(); end if;
  perform 1 from leasehold.queues q where q.name = 'inbox' and q.paused_at is null;
  if not found and p_limit > 0 then return; end if;
  if exists (select 1 from leasehold.inbox j where not j.in_line and j.finished_at is null) then
    perform leasehold.inbox_promote(p_buckets, 1000, v_now);
  end if;
  select coalesce(array_agg(k.id), '{}') into v_dead from leasehold.workers k where k.status = 'dead' and k.left_at is null;
  if p_worker = any(v_dead) then perform leasehold.assert_not_dead(p_worker, v_dead); end if;
  perform leasehold.refuse_claim(k.id, p_generation, k.generation <> p_generation) from leasehold.workers k
    where k.id = p_worker and (k.generation <> p_generation or (p_generation is not null and k.last_seen_at + k.ttl <= v_now));
  if p_limit < 1 then
    v_lost := leasehold.inbox_find_lost(p_buckets, c_look, p_worker, p_known, v_dead, v_now);
    if v_lost is not null then
      perform leasehold.inbox_recover(v_lost, v_lost, p_worker, p_known, v_dead, v_now);
      return query select * from leasehold.inbox_tell_dead();
    end if;
    return;
  end if;
  if exists (select 1 from unnest(p_after) a where a like '~%') then
    v_after := leasehold.inbox_fronts(p_buckets, p_after);
    return query select n.* from unnest(p_buckets, p_after, v_after) f(bucket, asked, after) cross join lateral leasehold.inbox_note('front', f.bucket,
      coalesce(nullif(f.after, ''), '0:' || (extract(epoch from v_now - c_none) * 1000000)::bigint || ':0'), null) n where f.asked like '~%';
    select array_agg(f.bucket), array_agg(f.after) into v_buckets, v_after
    from unnest(p_buckets, p_after, v_after) f(bucket, asked, after) where not (f.asked like '~%' and f.after = '');
  end if;
  v_share := greatest(1, ceil(p_limit::float8 / greatest(1, cardinality(v_buckets))));
  for v_round in 1..2 loop -- give back, take
    select array_agg(t.tid) filter (where not t.is_lost) as tids, array_agg(t.attempts) filter (where not t.is_lost) as attempts,
           array_agg(t.crashes) filter (where not t.is_lost) as crashes, coalesce(bool_or(t.attempts > 0), false) as has_retries,
           array_agg(t.bytes) filter (where not t.is_lost) as bytes,
           array_agg(t.id) filter (where t.is_lost) as lost
    into w
    from leasehold.inbox_pick(v_buckets, v_after, v_share, p_limit, p_worker, p_known, p_kinds, v_dead, v_now) t;
    exit when w.lost is null or v_round = 2;
    perform leasehold.inbox_recover(w.lost, w.lost, p_worker, p_known, v_dead, v_now);
    return query select * from leasehold.inbox_tell_dead();
  end loop;
  if v_share < p_limit and coalesce(cardinality(w.tids), 0) between 1 and p_limit - 1 then
    -- Goes on behind what was found, not over all the dead entries before it again.
    select array_agg(d.bucket), array_agg(d.after) into v_deep, v_after from (
      select j.partition_bucket as bucket, (array_agg(j.priority || ':' || (extract(epoch from j.available_at) * 1000000)::bigint || ':' || j.seq
        order by j.priority desc, j.available_at desc, j.seq desc))[1] as after
      from leasehold.inbox j where j.ctid = any(w.tids) group by j.partition_bucket having count(*) >= v_share) d;
  end if;
  if v_deep is not null then
    select array_agg(t.tid) as tids, array_agg(t.attempts) as attempts, array_agg(t.crashes) as crashes, array_agg(t.bytes) as bytes,
           bool_or(t.attempts > 0) as has_retries into m
    from leasehold.inbox_pick(v_deep, v_after, p_limit, p_limit, p_worker, p_known, p_kinds, v_dead, v_now) t
    where not t.is_lost;
    w.tids := (w.tids || m.tids)[1:p_limit];
    w.attempts := (w.attempts || m.attempts)[1:p_limit];
    w.crashes := (w.crashes || m.crashes)[1:p_limit];
    w.bytes := (w.bytes || m.bytes)[1:p_limit];
    w.has_retries := w.has_retries or coalesce(m.has_retries, false);
  end if;
  if p_kinds is not null and p_after[1] <> '' and coalesce(cardinality(w.tids), 0) < p_limit and w.has_retries is not true then
    -- Not where the limit of bytes leaves rows that were found: they lie before that place.
    return query select n.* from leasehold.inbox_ends(v_buckets, v_now - c_none) e cross join lateral leasehold.inbox_note('end', e.bucket, e.at, null) n
      where (p_bytes > 0 and (select sum(b) from unnest(w.bytes) b) > p_bytes) is not true;
  end if;
  if w.tids is null then
    return query select * from leasehold.inbox_rest(0, 0, leasehold.inbox_next_due(p_buckets, v_now), null, null, null);
    return;
  end if;
  if w.has_retries then
    select array_agg(t.nth::int) as nths, array_agg(t.crashes) as crashes into m
    from unnest(w.attempts, w.crashes) with ordinality t(attempts, crashes, nth) where t.attempts > 0;
    v_over := leasehold.over_budget(m.nths, m.crashes, p_retries, p_suspects);
    v_left := leasehold.left_out(m.nths, m.crashes, v_over, p_suspects);
    select array_agg(t.tid), array_agg(t.bytes) into w.tids, w.bytes from unnest(w.tids, w.bytes) with ordinality t(tid, bytes, nth) where t.nth <> all(v_over);
  end if;
  if w.tids is null then
    return query select * from leasehold.inbox_rest(v_left, 0, null, null, null, null);
    return;
  end if;
  v_bytes := (select sum(b) from unnest(w.bytes) b);
  if v_bytes > p_bytes and p_bytes > 0 then
    v_is_cut := true;
    select array_agg(f.tid), max(f.upto) into w.tids, v_bytes from (
      select t.tid, t.nth, sum(t.bytes) over (order by t.nth) as upto from unnest(w.tids, w.bytes) with ordinality t(tid, bytes, nth)) f
    where f.upto <= p_bytes or f.nth = 1;
  end if;

  v_token := leasehold.next_token();
  -- Once more: whoever takes the id after this look begins with a higher number (workers.first_token), so he can tell these rows from his own.
  perform leasehold.refuse_claim(k.id, p_generation, k.generation <> p_generation) from leasehold.workers k
    where k.id = p_worker and (k.generation <> p_generation or (p_generation is not null and k.last_seen_at + k.ttl <= v_now));
  return query select * from leasehold.inbox_rest(v_left, 0, case when cardinality(w.tids) < p_limit then leasehold.inbox_next_due(p_buckets, v_now) end,
    v_token, v_now, p_lease_ms, least(v_bytes, 2147483647)::int, v_is_cut);
  return query update leasehold.inbox j set status = 'processing', claimed_by = p_worker, claimed_at = v_now,
      lease_expires_at = v_now + p_lease_ms * interval '1 ms', lease_generation = v_token, attempts = j.attempts + 1
    where j.ctid = any(w.tids)
    returning j.id, j.seq, j.kind, case when p_bytes > 0 then j.payload end, case when p_bytes > 0 then nullif(j.headers, '{}') end, j.partition_key, j.partition_bucket, j.attempts,
      nullif(j.crashes, 0), j.max_attempts, nullif(j.priority, 0), null::float8, null::float8, null::bigint,
      date_part('epoch', nullif(j.available_at, j.created_at)) * 1000, date_part('epoch', j.created_at) * 1000, j.idempotency_key, j.last_error;
end
$$;

-- Positions to begin behind, for inbox_pick: those with a ~ lie right before the first unfinished row as told above ('': there is none). Locks nothing.
create or replace function leasehold.inbox_fronts(p_buckets int[], p_after text[]) returns text[]
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
begin
  return array(
    select case when u.after like '~%' then coalesce(f.after, '') else u.after end
    from unnest(p_buckets, p_after) with ordinality u(b, after, nth)
    cross join lateral (select string_to_array(nullif(ltrim(u.after, '~'), ''), ':') as at) a left join lateral (
      select n.priority || ':' || (extract(epoch from n.available_at) * 1000000)::bigint || ':' || n.seq - 1 as after from (
        (select j.priority, j.available_at, j.seq from leasehold.inbox j
         where j.in_line and j.partition_bucket = u.b and j.priority < a.at[1]::int
         order by j.priority, j.available_at, j.seq limit 1)
        union all
        (select j.priority, j.available_at, j.seq from leasehold.inbox j
         where j.in_line and j.partition_bucket = u.b and (j.priority, j.available_at, j.seq) > (coalesce(a.at[1]::int, -2147483648),
           coalesce('epoch'::timestamptz + a.at[2]::bigint * interval '1 microsecond', '-infinity'), coalesce(a.at[3]::bigint, 0))
         order by j.priority, j.available_at, j.seq limit 1)
        limit 1) n
      where u.after like '~%') f on true
    order by u.nth);
end
$$;

-- The last row in line of each bucket that was due before a time, as a position. Locks nothing; by inbox_line, backwards.
create or replace function leasehold.inbox_ends(p_buckets int[], p_before timestamptz) returns table (bucket int, at text)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
begin
  return query select b, e.priority || ':' || (extract(epoch from e.available_at) * 1000000)::bigint || ':' || e.seq
  from unnest(p_buckets) b cross join lateral (
    select j.priority, j.available_at, j.seq from leasehold.inbox j
    where j.in_line and j.partition_bucket = b and j.available_at < p_before
    order by j.priority desc, j.available_at desc, j.seq desc limit 1) e;
end
$$;

-- Locks (skip locked) up to p_share rows of each bucket, p_limit in all, by the index inbox_line: pending ones, and those in process that are lost:
-- their lease ran out, their worker is marked dead, or they are the caller's own under a token it does not know.
create or replace function leasehold.inbox_pick(p_buckets int[], p_after text[], p_share int, p_limit int, p_worker text, p_known bigint[], p_kinds text[],
  p_dead text[], p_now timestamptz)
returns table (bucket int, tid tid, id uuid, attempts int, crashes int, bytes int, is_lost boolean)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
begin
  return query select b, r.tid, r.id, r.attempts, r.crashes, r.bytes, r.status = 'processing'
  from unnest(p_buckets, p_after) u(b, after) cross join lateral (select string_to_array(nullif(u.after, ''), ':') as at) a cross join lateral (
    select j.ctid as tid, j.id, j.attempts, j.crashes, j.bytes, j.status from leasehold.inbox j
    where j.in_line and j.partition_bucket = b and leasehold.is_due(j.available_at, j.created_at, j.redriven_at, p_now)
      and (j.priority, j.available_at, j.seq) > (coalesce(a.at[1]::int, -2147483648),
        coalesce('epoch'::timestamptz + a.at[2]::bigint * interval '1 microsecond', '-infinity'), coalesce(a.at[3]::bigint, 0))
      and (j.status = 'pending' and (p_kinds is null or j.kind = any(p_kinds))
      or (j.status = 'processing' and (j.lease_expires_at <= p_now or j.claimed_by = any(p_dead)
        or (p_known is not null and j.claimed_by = p_worker and j.lease_generation <> all(p_known)))))
    order by j.priority, j.available_at, j.seq limit p_share for update skip locked) r
  limit p_limit;
end
$$;

-- The same lost rows, among the first p_look of each bucket. Locks nothing.
create or replace function leasehold.inbox_find_lost(p_buckets int[], p_look int, p_worker text, p_known bigint[], p_dead text[],
  p_now timestamptz) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
  v_ids uuid[];
begin
  select array_agg(r.id) into v_ids from unnest(p_buckets) b cross join lateral (
    select j.id, j.status, j.claimed_by, j.lease_expires_at, j.lease_generation from leasehold.inbox j
    where j.in_line and j.partition_bucket = b order by j.priority, j.available_at, j.seq limit p_look) r
  where r.status = 'processing' and (r.lease_expires_at <= p_now or r.claimed_by = any(p_dead)
    or (p_known is not null and r.claimed_by = p_worker and r.lease_generation <> all(p_known)));
  return v_ids;
end
$$;
