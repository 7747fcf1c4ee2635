--! scope: queue
--! order: key
--
-- The claim of a queue with order: key.
--
-- 1. Try the advisory locks of the buckets asked for; buckets that somebody else is working in are left out. From here on no
--    other claim or promotion works in these buckets.
-- 2. In a new snapshot, which sees everything committed before the locks were won, walk the distinct keys of each bucket by the
--    index inbox_line. The first row of a key is its head. For a head that is pending and due, look at the next rows of its key
--    (the window) and take the unbroken run of pending, due rows; a window with a processing row in it takes nothing.
-- 3. Lock what was chosen with skip locked, test it again on the locked version, cut each run at the first row not locked.
-- 4. Draw one token and write the leases. A HOT update by ctid: no index is touched. A ctid read in step 2 is still good because
--    the calling statement's snapshot keeps every row version that was live then from being pruned.
--
-- A window that is not full has seen every unfinished row of its key. A full one has not: rows that committed late may have
-- appeared below a row that is in process further back. inbox_hot_keys remembers, for keys with more rows than a window, a seq
-- beyond which no row is in process. Between the window and that seq the rows are looked at. A key without such a memory is
-- checked once through, some hundred thousand rows a pass, before it is claimed from.

create index if not exists inbox_line on leasehold.inbox (partition_bucket, partition_key, seq) where in_line;

create table if not exists leasehold.inbox_hot_keys (
  partition_bucket int not null,
  partition_key text collate "C" not null,
  claimed_seq bigint not null,  -- no row of the key with a higher seq is in process
  checked_seq bigint,           -- how far the first check has come; null when it is through
  primary key (partition_bucket, partition_key)
) with (fillfactor = 50);

-- What one pass finds, before anything is locked. One row per row to take ('take', in the order of its run), per key whose
-- lost rows have to be given back first ('recover'), and per key that has to be checked ('check'). Stops by itself when p_limit
-- rows have been found or p_heads keys visited; then also tells, per bucket, the last key it saw ('stop'). When fewer rows than p_limit
-- were found, one more row ('rest') tells how many keys are at work elsewhere (head) and in how many ms the first retry falls due (full_to).
create or replace function leasehold.inbox_walk(p_buckets int[], p_after text[], p_limit int, p_heads int, p_window int,
  p_worker text, p_known bigint[], p_dead text[], p_now timestamptz)
returns table (act text, head int, place int, tid tid, bucket int, key text, full_to bigint, attempts int, crashes int)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
begin
  return query with recursive walk as (
    select b.bucket, b.after, n.wrapped, n.partition_key, n.seq, n.attempts, n.crashes, n.status, n.available_at, n.claimed_by
    from unnest(p_buckets, p_after) as b(bucket, after) cross join lateral (
      (select false as wrapped, j.partition_key, j.seq, j.attempts, j.crashes, j.status, j.available_at, j.claimed_by
       from leasehold.inbox j where j.in_line and j.partition_bucket = b.bucket and j.partition_key > b.after
       order by j.partition_key, j.seq limit 1)
      union all
      (select true, j.partition_key, j.seq, j.attempts, j.crashes, j.status, j.available_at, j.claimed_by
       from leasehold.inbox j where b.after <> '' and j.in_line and j.partition_bucket = b.bucket
       order by j.partition_key, j.seq limit 1)
      limit 1) n
    union all
    select w.bucket, w.after, n.wrapped, n.partition_key, n.seq, n.attempts, n.crashes, n.status, n.available_at, n.claimed_by
    from walk w cross join lateral (
      (select w.wrapped as wrapped, j.partition_key, j.seq, j.attempts, j.crashes, j.status, j.available_at, j.claimed_by
       from leasehold.inbox j where j.in_line and j.partition_bucket = w.bucket and j.partition_key > w.partition_key
       order by j.partition_key, j.seq limit 1)
      union all
      (select true, j.partition_key, j.seq, j.attempts, j.crashes, j.status, j.available_at, j.claimed_by
       from leasehold.inbox j where not w.wrapped and w.after <> '' and j.in_line and j.partition_bucket = w.bucket
       order by j.partition_key, j.seq limit 1)
      limit 1) n
    where not (n.wrapped and n.partition_key > w.after)
  ), heads as materialized (
    select row_number() over ()::int as head, h.* from (select * from walk limit p_heads) h
  ), found as materialized (
    select case when r.is_lost then 'recover' when not r.is_clear then 'check' else 'take' end as act,
           h.head, u.place::int as place, u.tid, h.bucket, h.partition_key as key,
           case when r.is_full then r.last_seq end as full_to, h.attempts, h.crashes
    from heads h cross join lateral (
      select array_agg(s.tid) as tids, array_position(array_agg(s.is_ready), false) as broken_at,
             bool_or(s.is_busy) as is_busy, bool_or(s.is_lost) as is_lost, max(s.seq) as last_seq,
             count(*) = p_window as is_full, count(*) < p_window or exists (
               select 1 from leasehold.inbox_hot_keys k
               where k.partition_bucket = h.bucket and k.partition_key = h.partition_key and k.checked_seq is null
                 and not exists (select 1 from (  -- offset 0 keeps both bounds of seq in the index condition
                   select b.status from leasehold.inbox b
                   where b.in_line and b.partition_bucket = h.bucket and b.partition_key = h.partition_key
                     and b.seq > max(s.seq) and b.seq <= k.claimed_seq offset 0) b where b.status = 'processing')) as is_clear
      from (
        select j.ctid as tid, j.seq, j.status = 'processing' as is_busy,
               j.status = 'pending' and j.available_at <= p_now and (j.attempts = 0 or j.seq = h.seq) as is_ready,
               j.status = 'processing' and (j.lease_expires_at <= p_now or j.claimed_by = any(p_dead)
                 or (p_known is not null and j.claimed_by = p_worker and j.lease_generation <> all(p_known))) as is_lost
        from leasehold.inbox j
        where j.in_line and j.partition_bucket = h.bucket and j.partition_key = h.partition_key and j.seq >= h.seq
        order by j.seq limit p_window
      ) s
    ) r cross join lateral unnest(case when r.is_lost or not r.is_clear then array[null::tid]
          else r.tids[1 : least(coalesce(r.broken_at, p_window), p_window) - 1] end) with ordinality as u(tid, place)
    where not (h.status = 'pending' and h.available_at > p_now)  -- its key waits with it, whatever is behind
      and (r.is_lost or (not r.is_busy and h.status = 'pending'))
    limit p_limit
  )
  select f.* from found f
  union all
  (select distinct on (f.bucket) 'stop', f.head, null, null, f.bucket, f.key, null, null, null from found f
   where (select count(*) from found) >= p_limit order by f.bucket, f.head desc)
  union all
  (select distinct on (h.bucket) 'stop', h.head, null, null, h.bucket, h.partition_key, null, null, null from heads h
   where (select count(*) from found) < p_limit and (select count(*) from heads) >= p_heads order by h.bucket, h.head desc)
  union all
  select 'rest', (count(*) filter (where h.status = 'processing' and h.claimed_by is distinct from p_worker))::int, null, null, null, null,
         (extract(epoch from min(h.available_at) filter (where h.status = 'pending' and h.available_at > p_now) - p_now) * 1000)::bigint,
         null, null
  from heads h where (select count(*) from found) < p_limit;
end
$$;

-- Gives back what was lost in some keys. A run has one token, so of each token the first row still in process pays. The line is looked
-- at beyond the window, because the run of the one who was lost may have been longer, or rows may have appeared in front of it.
create or replace function leasehold.inbox_recover_keys(p_buckets int[], p_keys text[], p_worker text, p_known bigint[],
  p_dead text[], p_now timestamptz) returns int
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  c_look constant int := 10000;  -- rows of a key looked at
  v_ids uuid[];
  v_payers uuid[];
begin
  select array_agg(p.id), array_agg(p.id) filter (where p.nth = 1) into v_ids, v_payers
  from unnest(p_buckets, p_keys) k(bucket, key) cross join lateral (
    select f.id, row_number() over (partition by f.lease_generation order by f.seq) as nth from (
      select j.id, j.seq, j.status, j.lease_generation from leasehold.inbox j
      where j.in_line and j.partition_bucket = k.bucket and j.partition_key = k.key
      order by j.seq limit c_look) f
    where f.status = 'processing') p;
  return leasehold.inbox_recover(v_ids, v_payers, p_worker, p_known, p_dead, p_now);
end
$$;

-- Looks at keys with more rows than a window that inbox_walk could not clear, and gives back what was lost in them. A key
-- without a memory is looked through from where the last pass stopped, p_scan rows in all at most; when no row of it is in
-- process the memory is made. Returns how many keys and rows changed, so that the caller walks again.
create or replace function leasehold.inbox_check(p_buckets int[], p_keys text[], p_scan int, p_worker text, p_known bigint[],
  p_dead text[], p_now timestamptz) returns int
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_key record;
  v_seen record;
  v_left int := p_scan;
  v_changed int := 0;
begin
  for v_key in
    select t.bucket, t.key, k.claimed_seq, k.checked_seq from unnest(p_buckets, p_keys) t(bucket, key)
    left join leasehold.inbox_hot_keys k on k.partition_bucket = t.bucket and k.partition_key = t.key
  loop
    exit when v_left <= 0;
    select count(*)::int as rows, max(s.seq) as last_seq, array_agg(s.id order by s.seq) filter (where s.status = 'processing') as busy,
           (array_agg(s.id order by s.seq) filter (where s.status = 'processing'))[1:1] as payer
    into v_seen
    from (select j.id, j.seq, j.status from leasehold.inbox j
          where j.in_line and j.partition_bucket = v_key.bucket and j.partition_key = v_key.key
            and j.seq > coalesce(v_key.checked_seq, 0)
            and j.seq <= case when v_key.checked_seq is null and v_key.claimed_seq is not null then v_key.claimed_seq
                              else 9223372036854775807 end
          order by j.seq limit v_left) s;
    if v_seen.busy is not null then
      v_changed := v_changed + coalesce(
        nullif(leasehold.inbox_recover_keys(array[v_key.bucket], array[v_key.key], p_worker, p_known, p_dead, p_now), 0),
        leasehold.inbox_recover(v_seen.busy, v_seen.payer, p_worker, p_known, p_dead, p_now));
    elsif v_seen.rows < v_left then
      insert into leasehold.inbox_hot_keys as k (partition_bucket, partition_key, claimed_seq)
      values (v_key.bucket, v_key.key, 0)
      on conflict (partition_bucket, partition_key) do update set checked_seq = null;
      v_changed := v_changed + 1;
    else
      insert into leasehold.inbox_hot_keys as k (partition_bucket, partition_key, claimed_seq, checked_seq)
      values (v_key.bucket, v_key.key, 0, v_seen.last_seq)
      on conflict (partition_bucket, partition_key) do update set checked_seq = excluded.checked_seq;
    end if;
    v_left := v_left - v_seen.rows;
  end loop;
  return v_changed;
end
$$;

-- After a claim: a full window moves the memory of its key to the window's end, beyond which the walk has just found nothing in process;
-- a window that saw the whole key makes it needless. So a key whose rows were taken has no memory, or one that covers them.
create or replace function leasehold.inbox_remember(p_buckets int[], p_keys text[], p_full_to bigint[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  update leasehold.inbox_hot_keys k set claimed_seq = t.full_to
  from unnest(p_buckets, p_keys, p_full_to) t(bucket, key, full_to)
  where k.partition_bucket = t.bucket and k.partition_key = t.key and t.full_to is not null;
  delete from leasehold.inbox_hot_keys k using unnest(p_buckets, p_keys, p_full_to) t(bucket, key, full_to)
  where k.partition_bucket = t.bucket and k.partition_key = t.key and t.full_to is null;
end
$$;
