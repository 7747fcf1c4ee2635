--! scope: queue
--! order: key
--
-- inbox_claim for order: key, the one call of a pass. See 0005 for the steps. Rows without an id are no jobs. With a bucket they tell the
-- last key that the walk saw in it, for the caller to start after it next time (p_after). Without a bucket, one row tells what was left:
-- in `attempts` the retries beyond p_retries, in `crashes` the keys and buckets at work elsewhere, in `seq` in how many ms the
-- next row falls due, as far as the walk saw (told when it was not filled), in `max_attempts` about how many bytes the jobs have, and in `priority` 1 when
-- p_bytes kept it from taking more. A row with a bucket and the kind `turn`: the bucket was in another turn than the caller named,
-- and is now in that of `seq`; without one the keys of this bucket were not visited. A row of the kind `drawn`: the highest `seq` that was drawn before the snapshot whose xmin and
-- xmax are in `partition_key`. Once a later snapshot has an xmin that is not below this xmax, no row up to that seq can appear any more. A row of the kind `dead`: a job that this claim took
-- over and dead-lettered (0003).
--
-- A caller who remembers nothing (no p_turns) begins in each bucket behind the key where the last such claim stopped, and goes on within one call while all keys that it meets are
-- blocked, for 20 passes at most. So a script that opens the queue anew for each claim comes round to every key.
--
--   p_buckets, p_after   where to look, and after which key in each bucket ('' or null: from the front)
--   p_keys, p_floors     when given, one bucket, key and seq each: only these keys are visited, from beyond that seq (0005)
--   p_turns              the turn that the caller knows of each bucket, or remembers with each key; null for who remembers nothing
--   p_limit, p_run       rows at most, and rows of one key at most; a limit of 0 only gives back lost rows and forgets cold keys
--   p_retries            how many of them may have attempts behind them: such a row is claimed into a free slot, not ahead
--   p_suspects           how many may have crashed their worker twice or more: one at a time, so that innocents do not pay
--   p_bytes              bytes of payloads and headers at most, but for the first row; 0 for any number of rows without payload and headers
--   p_kinds              which kinds may be taken; null for all
--   p_generation         under which the worker is registered; one that another process of its id has replaced may not claim. Null for who is not.
--   p_known              tokens the worker knows of; its own rows under any other token are taken over. Null: none are.
--
-- Locks: bucket locks (try), then job rows with skip locked. It waits for nothing, but for 100 ms at most where a person locks a row in the moment
-- between its look and its write.

drop function if exists leasehold.inbox_claim(text, int[], text[], int, int, int, int, bigint, bigint[], timestamptz);
drop function if exists leasehold.inbox_claim(text, int[], text[], int, int, int, int, bigint, bigint[], timestamptz, text[], bigint[], bigint[]);
drop function if exists leasehold.inbox_claim(text, int[], text[], int, int, int, int, bigint, bigint[], timestamptz, text[], bigint[], bigint[], bigint);
drop function if exists leasehold.inbox_claim(text, int[], text[], int, int, int, int, bigint, bigint[], timestamptz, text[], bigint[], bigint[], bigint, bigint);
create or replace function leasehold.inbox_claim(p_worker text, p_buckets int[], p_after text[], p_limit int, p_run int,
  p_retries int, p_suspects int, p_lease_ms bigint, p_known bigint[], p_now timestamptz, p_keys text[] default null,
  p_floors bigint[] default null, p_turns bigint[] default null, p_generation bigint default null, p_bytes bigint default 8388608, p_kinds text[] default null)
returns table (id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int,
  attempts int, crashes int, max_attempts int, priority int, claimed_ms float8, expires_ms float8,
  lease_generation bigint, available_ms float8, created_ms float8, idempotency_key text, last_error text)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set lock_timeout = '100ms' as $$
#variable_conflict use_column
declare
  c_heads constant int := case when p_limit = 0 then 5000 else greatest(p_limit, 500) end;  -- keys visited in a pass
  c_found constant int := case when p_limit = 0 then 2147483647 else p_limit end;
  c_scan constant int := 200000;                   -- rows of hot keys looked at in a pass when they are met first
  c_passes constant int := case when p_turns is null and p_limit > 0 then 20 else 1 end;  -- for a caller who remembers nothing, while all keys that are met are blocked
  v_now timestamptz := coalesce(leasehold.allowed_now(p_now), clock_timestamp());
  v_asked int[]; v_buckets int[]; v_after text[]; v_dead text[]; v_token bigint; v_locked tid[]; v_changed int;
  v_busy int; v_keys text[]; v_floors bigint[]; v_foreign int[]; v_turn bigint; v_has_later boolean;
  v_drawn bigint; v_snapshot pg_snapshot; b record; w record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then perform leasehold.assert_read_committed(); end if;
  perform 1 from leasehold.queues q where q.name = 'inbox' and q.paused_at is null;
  if not found and p_limit > 0 then return; end if;
  v_has_later := exists (select 1 from leasehold.inbox j where not j.in_line and j.finished_at is null);
  select * into b from leasehold.inbox_try_buckets(p_buckets, p_after, p_keys, p_floors, p_turns, v_has_later);
  v_asked := b.asked; v_buckets := b.buckets; v_after := b.after; v_keys := b.keys; v_floors := b.floors;
  if v_buckets is null then
    return query select * from leasehold.inbox_rest(0, cardinality(v_asked), null, null, null, null);
    return;
  end if;
  if p_limit > 0 then
    select t.foreign_buckets, t.new_turn into v_foreign, v_turn from leasehold.inbox_take_turns(v_buckets, b.turns, v_keys is null, p_turns is not null) t;
    return query select n.* from unnest(v_foreign) f(bucket) cross join lateral leasehold.inbox_note('turn', f.bucket, null, v_turn) n where p_turns is not null;
    if p_turns is not null then
      -- In this order: all who have drawn a seq up to v_drawn had their transaction id before, so it is below the snapshot's xmax.
      v_drawn := coalesce(pg_sequence_last_value('leasehold.inbox_seq'), 0);
      v_snapshot := pg_current_snapshot();
      return query select * from leasehold.inbox_note('drawn', null, pg_snapshot_xmin(v_snapshot) || ':' || pg_snapshot_xmax(v_snapshot), v_drawn);
    end if;
    if v_foreign is not null and v_keys is not null then
      select array_agg(k.bucket), array_agg(k.key), array_agg(k.floor) into v_buckets, v_keys, v_floors
      from unnest(v_buckets, v_keys, v_floors) as k(bucket, key, floor) where k.bucket <> all(v_foreign);
      if v_keys is null then return; end if;
    end if;
  end if;
  if v_has_later then
    perform leasehold.inbox_promote(array(select distinct b from unnest(v_buckets) b order by b), 1000, v_now);
  end if;
  select coalesce(array_agg(k.id), '{}') into v_dead from leasehold.workers k where k.status = 'dead' and k.left_at is null;
  if p_worker = any(v_dead) then perform leasehold.assert_not_dead(p_worker, v_dead); end if;
  perform leasehold.refuse_claim(k.id, p_generation, k.generation <> p_generation) from leasehold.workers k
    where k.id = p_worker and (k.generation <> p_generation or (p_generation is not null and k.last_seen_at + k.ttl <= v_now));
  if p_turns is null and v_keys is null then
    v_after := array(select coalesce(nullif(b.after, ''), t.hand_key, '') from unnest(v_buckets, v_after) with ordinality b(bucket, after, nth)
      left join leasehold.inbox_turns t on t.partition_bucket = b.bucket order by b.nth);
  end if;
  for v_pass in 1..c_passes loop
    for v_round in 1..3 loop -- give back, check, take
      select * into w from leasehold.inbox_walk(v_buckets, v_after, v_keys, v_floors, c_found, coalesce(nullif(p_bytes, 0), 9223372036854775807),
        c_heads, p_run, p_retries, p_suspects, p_worker, p_known, p_kinds, v_dead, v_now);
      v_changed := 0;
      if w.lost_keys is not null then
        v_changed := leasehold.inbox_recover_keys(w.lost_buckets, w.lost_keys, p_worker, p_known, v_dead, v_now);
      end if;
      if w.check_keys is not null and p_limit > 0 then
        v_changed := v_changed + leasehold.inbox_check(w.check_buckets, w.check_keys, c_scan, p_worker, p_known, v_dead, v_now);
      end if;
      exit when v_changed = 0;
      return query select * from leasehold.inbox_tell_dead();
    end loop;
    exit when w.tids is not null or w.stop_keys is null;
    v_after := array(select coalesce(s.key, s.after) from unnest(w.stop_keys, v_after) with ordinality s(key, after, nth) order by s.nth);
  end loop;
  if p_turns is null and p_limit > 0 and w.stop_keys is not null then
    update leasehold.inbox_turns t set hand_key = s.key from unnest(v_buckets, w.stop_keys) s(bucket, key)
    where t.partition_bucket = s.bucket and s.key is not null and t.hand_key is distinct from s.key;
  end if;
  if w.stop_keys is not null then
    return query select n.* from unnest(v_buckets, w.stop_keys) s(bucket, key) cross join lateral leasehold.inbox_note(null, s.bucket, s.key, null) n
      where s.key is not null order by s.bucket;
  end if;
  if p_limit = 0 then
    delete from leasehold.inbox_hot_keys k where k.partition_bucket = any(v_buckets) and not exists (
      select 1 from leasehold.inbox j
      where j.in_line and j.partition_bucket = k.partition_bucket and j.partition_key = k.partition_key);
    return;
  end if;
  v_busy := w.busy + cardinality(v_asked) - cardinality(v_buckets);
  if w.tids is null then
    return query select * from leasehold.inbox_rest(w.retries_left, v_busy, least(w.due_ms, leasehold.inbox_next_due(v_buckets, v_now)),
      null, null, null);
    return;
  end if;

  v_locked := case when w.is_free then w.tids else leasehold.inbox_lock_runs(w.tids, w.run_starts, v_now) end;
  if v_locked is null then
    return query select * from leasehold.inbox_rest(w.retries_left, v_busy, null, null, null, null);
    return;
  end if;
  perform leasehold.inbox_note_taken(w.taken_buckets, w.taken_to);
  if exists (select 1 from leasehold.inbox_hot_keys k where k.partition_bucket = any(v_buckets)) then
    perform leasehold.inbox_remember(w.taken_buckets, w.taken_keys, w.taken_full_to);
  end if;

  v_token := leasehold.next_token();
  -- Once more: whoever takes the id after this look begins with a higher number (workers.first_token), so he can tell these rows from his own.
  perform leasehold.refuse_claim(k.id, p_generation, k.generation <> p_generation) from leasehold.workers k
    where k.id = p_worker and (k.generation <> p_generation or (p_generation is not null and k.last_seen_at + k.ttl <= v_now));
  return query select * from leasehold.inbox_rest(w.retries_left, v_busy, case when cardinality(w.tids) < p_limit
    then least(w.due_ms, leasehold.inbox_next_due(v_buckets, v_now)) end, v_token, v_now, p_lease_ms, least(w.bytes, 2147483647)::int, w.is_cut);
  return query update leasehold.inbox j set status = 'processing', claimed_by = p_worker, claimed_at = v_now,
      lease_expires_at = v_now + p_lease_ms * interval '1 ms', lease_generation = v_token, attempts = j.attempts + 1
    where j.ctid = any(v_locked) and j.status = 'pending' and leasehold.is_due(j.available_at, j.created_at, j.redriven_at, v_now)
    returning j.id, j.seq, j.kind, case when p_bytes > 0 then j.payload end, case when p_bytes > 0 then nullif(j.headers, '{}') end, j.partition_key, j.partition_bucket, j.attempts,
      nullif(j.crashes, 0), j.max_attempts, nullif(j.priority, 0), null::float8, null::float8, null::bigint,
      date_part('epoch', nullif(j.available_at, j.created_at)) * 1000, date_part('epoch', j.created_at) * 1000, j.idempotency_key, j.last_error;
  get diagnostics v_changed = row_count;
  if v_changed < cardinality(v_locked) then
    raise exception 'rows were changed while they were being claimed' using errcode = '40001';
  end if;
end
$$;

-- Locks (skip locked) what the walk chose and tests it again. Cuts each run at its first row that somebody else has locked.
create or replace function leasehold.inbox_lock_runs(p_tids tid[], p_run_starts int[], p_now timestamptz) returns tid[]
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
declare
  v_locked tid[];
begin
  select array_agg(l.tid) into v_locked from (
    select j.ctid as tid from leasehold.inbox j
    where j.ctid = any(p_tids) and j.status = 'pending' and leasehold.is_due(j.available_at, j.created_at, j.redriven_at, p_now) for update skip locked) l;
  if v_locked is null or cardinality(v_locked) = cardinality(p_tids) then return v_locked; end if;
  return (select array_agg(c.tid) from (
    select t.tid, bool_and(t.tid = any(v_locked)) over (partition by width_bucket(t.nth::int, p_run_starts) order by t.nth) as is_ours
    from unnest(p_tids) with ordinality t(tid, nth)) c
  where c.is_ours);
end
$$;

-- Tries the locks of the buckets, or of those of the keys, and answers with what it got. With many buckets it asks first which of them have a row at all (asked), unless a
-- scheduled row may have to be promoted there; with few that would only walk over dead entries once more.
create or replace function leasehold.inbox_try_buckets(p_buckets int[], p_after text[], p_keys text[], p_floors bigint[], p_turns bigint[], p_has_later boolean,
  out asked int[], out buckets int[], out after text[], out keys text[], out floors bigint[], out turns bigint[])
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
declare
  c_few constant int := 64;
  v_class int := leasehold.lock_class('leasehold.inbox'::regclass);
begin
  asked := p_buckets;
  if p_keys is not null then
    select array_agg(k.bucket), array_agg(k.key), array_agg(k.floor), array_agg(k.turn) into buckets, keys, floors, turns
    from unnest(p_buckets, p_keys, p_floors, p_turns) as k(bucket, key, floor, turn) where pg_try_advisory_xact_lock(v_class, k.bucket);
    return;
  end if;
  if not p_has_later and cardinality(p_buckets) > c_few then
    asked := array(select b from unnest(p_buckets) b where exists (select 1 from leasehold.inbox j where j.in_line and j.partition_bucket = b));
  end if;
  select array_agg(b.bucket), array_agg(coalesce(b.after, '')), array_agg(b.turn) into buckets, after, turns
  from unnest(p_buckets, p_after, p_turns) as b(bucket, after, turn)
  where case when b.bucket = any(asked) then pg_try_advisory_xact_lock(v_class, b.bucket) else false end;
end
$$;
