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
-- 3. Lock what was chosen with skip locked, test it again on the locked version, cut each run at the first row not locked. Where no row has
--    been locked by anybody so far this is left out (a fifth of the claim): the bucket locks keep other claims away, and if a person
--    locks or changes one in this very moment, the update finds fewer rows than it should, or waits too long, and nothing is claimed.
-- 4. Draw one token and write the leases. A HOT update by ctid: no index is touched. A ctid read in step 2 is still good because
--    the calling statement's snapshot keeps every row version that was live then from being pruned.
--
-- A window that is not full has seen every unfinished row of its key. A full one has not: rows that committed late may have
-- appeared below a row that is in process further back. inbox_turns knows, for each bucket, a seq beyond which no row has ever been in process;
-- between the window and that seq the rows are looked at, which are few while the keys of a bucket come forward together. For a key
-- that stays behind, or has very many rows, inbox_hot_keys remembers such a seq of its own. It is made by looking through the key once, some
-- hundred thousand rows a pass.

create index if not exists inbox_line on leasehold.inbox (partition_bucket, partition_key, seq) where in_line;

create table if not exists leasehold.inbox_hot_keys (
  partition_bucket int not null,
  partition_key text collate "C" not null,
  claimed_seq bigint not null,  -- no row of the key with a higher seq is in process
  checked_seq bigint,           -- how far the first check has come; null when it is through
  primary key (partition_bucket, partition_key)
) with (fillfactor = 50);

-- Which turn a bucket is in. A number is drawn whenever rows are about to be taken by somebody who does not know the present one, so a claimer who names it knows
-- that nobody else has taken any since, whatever answers were lost or statements came late: what he remembers of the bucket's keys still holds, and a row that appeared below
-- a remembered seq can't be in process anywhere but with him. 0: the last one remembers nothing. Read and written under the bucket's lock.
create table if not exists leasehold.inbox_turns (
  partition_bucket int primary key,
  turn bigint not null
) with (fillfactor = 50);
-- No vacuum gives the end of their files back, which would lock claims out for a moment; they never become large.
alter table leasehold.inbox_hot_keys set (vacuum_truncate = off);
alter table leasehold.inbox_turns set (vacuum_truncate = off);
-- No row of the bucket with a higher seq has ever been in process. Rows that were claimed before this was kept may have any seq.
alter table leasehold.inbox_turns add column if not exists claimed_seq bigint not null default 9223372036854775807;
alter table leasehold.inbox_turns alter column claimed_seq set default 0;
-- Where the last claim stopped that came from a caller who remembers nothing; the next such claim begins behind it.
alter table leasehold.inbox_turns add column if not exists hand_key text collate "C";

-- What one pass finds, before anything is locked: rows to take, run after run (run_starts says where in tids each begins), keys whose lost rows have to be
-- given back first, and keys that have to be checked. Stops by itself when p_limit rows have been found or p_heads keys visited; then stop_keys tells
-- the last key it saw in each bucket. A key that has to be checked counts as what it may give, so that no more keys are checked in a pass than it can take from. A cursor that is read key by key: a query, or a loop
-- that fetches ahead, would look into many more keys than it takes from.
--
-- Of heads with attempts behind them at most p_retries are taken, and at most p_suspects that crashed their worker twice or more; retries_left counts those left out that
-- would be taken if there were more free slots. busy counts keys at work elsewhere, due_ms is when the first retry falls due.
--
-- At most p_bytes of payloads and headers are taken, but for the first row; is_cut says that this kept it from taking more. bytes is what was looked at for what it takes, and a little more.
--
-- is_free: none of the rows has ever been locked or written by anybody since it was inserted or given back.
--
-- Only rows of p_kinds are taken (null: of any kind); a row of another kind blocks its key like one that is not due.
--
-- With p_keys it visits these keys and no others, each from beyond p_floors: entries of finished rows that no vacuum may remove are not walked over again.
drop function if exists leasehold.inbox_walk(int[], text[], int, int, int, text, bigint[], text[], timestamptz);
drop function if exists leasehold.inbox_walk(int[], text[], int, int, int, int, int, text, bigint[], text[], timestamptz);
drop function if exists leasehold.inbox_walk(int[], text[], text[], bigint[], int, int, int, int, int, text, bigint[], text[], timestamptz);
drop function if exists leasehold.inbox_walk(int[], text[], text[], bigint[], int, bigint, int, int, int, int, text, bigint[], text[], timestamptz);
create or replace function leasehold.inbox_walk(p_buckets int[], p_after text[], p_keys text[], p_floors bigint[], p_limit int, p_bytes bigint, p_heads int, p_run int,
  p_retries int, p_suspects int, p_worker text, p_known bigint[], p_kinds text[], p_dead text[], p_now timestamptz, out tids tid[], out run_starts int[], out taken_buckets int[],
  out taken_keys text[], out taken_full_to bigint[], out lost_buckets int[], out lost_keys text[], out check_buckets int[], out check_keys text[],
  out taken_to bigint[], out stop_keys text[], out retries_left int, out busy int, out due_ms bigint, out is_free boolean, out bytes bigint, out is_cut boolean)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_rows int := 0; v_maybe int := 0; v_heads int := 0; v_retries int := 0; v_suspects int := 0; v_suspects_out int := 0; v_due timestamptz;
  v_last text[] := array_fill(null::text, array[cardinality(p_buckets)]);
  h record;
  c_heads no scroll cursor for
    with recursive walk as (
      select b.nth, b.bucket, b.after, n.wrapped, n.partition_key, n.seq, n.kind, n.attempts, n.crashes, n.status, n.available_at, n.claimed_by
      from unnest(p_buckets, p_after) with ordinality as b(bucket, after, nth) cross join lateral (
        (select false as wrapped, j.partition_key, j.seq, j.kind, j.attempts, j.crashes, j.status, nullif(nullif(j.available_at, j.created_at), j.redriven_at) as available_at, j.claimed_by
         from leasehold.inbox j where p_keys is null and j.in_line and j.partition_bucket = b.bucket and j.partition_key > b.after
         order by j.partition_key, j.seq limit 1)
        union all
        (select true, j.partition_key, j.seq, j.kind, j.attempts, j.crashes, j.status, nullif(nullif(j.available_at, j.created_at), j.redriven_at) as available_at, j.claimed_by
         from leasehold.inbox j where p_keys is null and b.after <> '' and j.in_line and j.partition_bucket = b.bucket
         order by j.partition_key, j.seq limit 1)
        limit 1) n
      union all
      select w.nth, w.bucket, w.after, n.wrapped, n.partition_key, n.seq, n.kind, n.attempts, n.crashes, n.status, n.available_at, n.claimed_by
      from walk w cross join lateral (
        (select w.wrapped as wrapped, j.partition_key, j.seq, j.kind, j.attempts, j.crashes, j.status, nullif(nullif(j.available_at, j.created_at), j.redriven_at) as available_at, j.claimed_by
         from leasehold.inbox j where j.in_line and j.partition_bucket = w.bucket and j.partition_key > w.partition_key
         order by j.partition_key, j.seq limit 1)
        union all
        (select true, j.partition_key, j.seq, j.kind, j.attempts, j.crashes, j.status, nullif(nullif(j.available_at, j.created_at), j.redriven_at) as available_at, j.claimed_by
         from leasehold.inbox j where not w.wrapped and w.after <> '' and j.in_line and j.partition_bucket = w.bucket
         order by j.partition_key, j.seq limit 1)
        limit 1) n
      where not (n.wrapped and n.partition_key > w.after)
    ), visited as (
      select * from walk
      union all
      select null, k.bucket, '', false, n.partition_key, n.seq, n.kind, n.attempts, n.crashes, n.status, n.available_at, n.claimed_by
      from unnest(case when p_keys is not null then p_buckets end, p_keys, p_floors) as k(bucket, key, floor) cross join lateral (
        select j.partition_key, j.seq, j.kind, j.attempts, j.crashes, j.status, nullif(nullif(j.available_at, j.created_at), j.redriven_at) as available_at, j.claimed_by from leasehold.inbox j
        where j.in_line and j.partition_bucket = k.bucket and j.partition_key = k.key and j.seq > k.floor order by j.seq limit 1) n
    )
    select w.*, r.tids[1 : least(coalesce(r.broken_at, p_run + 1), p_run + 1) - 1] as tids, r.bytes, r.is_busy, r.is_free, r.is_lost, r.is_clear,
           r.last_seq, case when r.is_full then r.last_seq end as full_to
    from visited w cross join lateral (
      select array_agg(s.tid) as tids, sum(s.bytes) as bytes, array_position(array_agg(s.is_ready), false) as broken_at,
             bool_or(s.is_busy) as is_busy, bool_and(s.is_free) as is_free, bool_or(s.is_lost) as is_lost, max(s.seq) as last_seq,
             count(*) = p_run + 1 as is_full, count(*) < p_run + 1 or exists (
               select 1 from leasehold.inbox_hot_keys k
               where k.partition_bucket = w.bucket and k.partition_key = w.partition_key and k.checked_seq is null
                 and not exists (select 1 from (  -- offset 0 keeps both bounds of seq in the index condition
                   select b.status from leasehold.inbox b
                   where b.in_line and b.partition_bucket = w.bucket and b.partition_key = w.partition_key
                     and b.seq > max(s.seq) and b.seq <= k.claimed_seq offset 0) b where b.status = 'processing')) or coalesce((
               select c.rows <= 200 and not coalesce(c.is_busy, false) from leasehold.inbox_turns t cross join lateral (
                 select count(*) as rows, bool_or(b.status = 'processing') as is_busy from (
                   select b.status from leasehold.inbox b
                   where b.in_line and b.partition_bucket = w.bucket and b.partition_key = w.partition_key
                     and b.seq > max(s.seq) and b.seq <= t.claimed_seq order by b.seq limit 201) b) c
               where t.partition_bucket = w.bucket), false) as is_clear
      from (
        select j.ctid as tid, j.seq, j.bytes, j.status = 'processing' as is_busy, j.xmax = '0'::xid as is_free,
               j.status = 'pending' and leasehold.is_due(j.available_at, j.created_at, j.redriven_at, p_now) and (j.attempts = 0 or j.seq = w.seq) and (p_kinds is null or j.kind = any(p_kinds)) as is_ready,
               j.status = 'processing' and (j.lease_expires_at <= p_now or j.claimed_by = any(p_dead)
                 or (p_known is not null and j.claimed_by = p_worker and j.lease_generation <> all(p_known))) as is_lost
        from leasehold.inbox j
        where (w.status = 'pending' and w.available_at > p_now) is not true  -- a key waits with its head, whatever is behind
          and j.in_line and j.partition_bucket = w.bucket and j.partition_key = w.partition_key and j.seq >= w.seq
        order by j.seq limit p_run + 1
      ) s
    ) r
    limit p_heads;
begin
  retries_left := 0; busy := 0; is_free := true; bytes := 0; is_cut := false;
  open c_heads;
  loop
    fetch c_heads into h;
    exit when not found;
    v_heads := v_heads + 1;
    if p_keys is null then v_last[h.nth] := h.partition_key; end if;
    if h.is_lost then
      lost_buckets := lost_buckets || h.bucket; lost_keys := lost_keys || h.partition_key;
    elsif h.status = 'processing' then
      if h.claimed_by is distinct from p_worker then busy := busy + 1; end if;
    elsif h.status <> 'pending' or h.is_busy or h.kind <> all(p_kinds) then
      null;
    elsif h.available_at > p_now then
      v_due := least(v_due, h.available_at);
    elsif not h.is_clear then
      check_buckets := check_buckets || h.bucket; check_keys := check_keys || h.partition_key;
      v_maybe := v_maybe + cardinality(h.tids);
      exit when v_rows + v_maybe >= p_limit;
    else
      if h.attempts > 0 then
        if v_retries >= p_retries or (h.crashes >= 2 and v_suspects >= p_suspects) then
          if h.crashes < 2 then retries_left := retries_left + 1; else v_suspects_out := v_suspects_out + 1; end if;
          continue;
        end if;
        v_retries := v_retries + 1;
        if h.crashes >= 2 then v_suspects := v_suspects + 1; end if;
      end if;
      if bytes + h.bytes > p_bytes then
        is_cut := true; h.tids := leasehold.inbox_within_bytes(h.tids, p_bytes - bytes, v_rows = 0);
        exit when h.tids is null;
      end if;
      bytes := bytes + h.bytes; run_starts := run_starts || (v_rows + 1);
      tids := tids || h.tids[1 : p_limit - v_rows];
      v_rows := cardinality(tids);
      is_free := is_free and h.is_free;
      taken_buckets := taken_buckets || h.bucket; taken_keys := taken_keys || h.partition_key; taken_full_to := taken_full_to || h.full_to; taken_to := taken_to || h.last_seq;
      exit when is_cut or v_rows + v_maybe >= p_limit;
    end if;
  end loop;
  close c_heads;
  retries_left := retries_left + least(v_suspects_out, greatest(0, p_suspects - v_suspects));
  due_ms := extract(epoch from v_due - p_now) * 1000;
  if p_keys is null and (is_cut or v_rows + v_maybe >= p_limit or v_heads >= p_heads) then stop_keys := v_last; end if;
end
$$;

-- The first rows of a run that have no more than these bytes together; null when there is none. The first row of a claim is taken whatever its size (p_takes_one).
create or replace function leasehold.inbox_within_bytes(p_tids tid[], p_bytes bigint, p_takes_one boolean) returns tid[]
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
begin
  return (select array_agg(f.tid order by f.nth) from (
    select t.tid, t.nth, sum(j.bytes) over (order by t.nth) as bytes
    from unnest(p_tids) with ordinality t(tid, nth) join leasehold.inbox j on j.ctid = t.tid) f
  where f.bytes <= p_bytes or (p_takes_one and f.nth = 1));
end
$$;

-- Tells the buckets that are in another turn than the caller names (null: none is) and begins a new one there for who looks from the front (p_takes): its number, or 0
-- when he names none because he remembers nothing. For buckets whose lock the caller holds.
create or replace function leasehold.inbox_take_turns(p_buckets int[], p_turns bigint[], p_takes boolean, p_remembers boolean,
  out foreign_buckets int[], out new_turn bigint)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
  select array_agg(distinct b.bucket) into foreign_buckets from unnest(p_buckets, p_turns) b(bucket, turn)
  where not exists (select 1 from leasehold.inbox_turns t where t.partition_bucket = b.bucket and t.turn = coalesce(b.turn, 0));
  if foreign_buckets is null or not p_takes then return; end if;
  new_turn := case when p_remembers then leasehold.next_token() else 0 end;
  insert into leasehold.inbox_turns as t (partition_bucket, turn)
  select f.bucket, new_turn from unnest(foreign_buckets) f(bucket) order by f.bucket
  on conflict (partition_bucket) do update set turn = excluded.turn;
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

-- Before rows are taken: the seq beyond which nothing of a bucket has been in process comes to lie beyond theirs, some way ahead so that it is seldom written.
create or replace function leasehold.inbox_note_taken(p_buckets int[], p_taken_to bigint[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
declare
  c_ahead constant int := 5000;
begin
  update leasehold.inbox_turns t set claimed_seq = u.taken_to + c_ahead
  from (select p.bucket, max(p.taken_to) as taken_to from unnest(p_buckets, p_taken_to) p(bucket, taken_to) group by p.bucket) u
  where t.partition_bucket = u.bucket and t.claimed_seq < u.taken_to;
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
