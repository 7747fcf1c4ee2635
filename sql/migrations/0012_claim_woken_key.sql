--! scope: queue
--! order: key
--
-- The claim of a worker that was woken, where it is simple: a few buckets with few rows, none of them lost or a retry. Answers as inbox_claim does, in less
-- than two thirds of its time, or with one row of the kind `look`: there is something that only inbox_claim knows how to take.
--
-- The same steps (0005): the locks of the buckets, then a look in a new snapshot, then the leases. Because it sees every unfinished row of its
-- buckets, no key is too long for a window.
-- p_turns names the turn of each bucket as the caller knows it; in any other turn it takes nothing.

drop function if exists leasehold.inbox_claim_woken(text, int[], int, int, bigint, timestamptz, bigint[]);
drop function if exists leasehold.inbox_claim_woken(text, int[], int, int, bigint, timestamptz, bigint[], bigint);
drop function if exists leasehold.inbox_claim_woken(text, int[], int, int, bigint, timestamptz, bigint[], bigint, bigint);
create or replace function leasehold.inbox_claim_woken(p_worker text, p_buckets int[], p_limit int, p_run int, p_lease_ms bigint,
  p_now timestamptz, p_turns bigint[], p_generation bigint default null, p_bytes bigint default 8388608,
  p_kinds text[] default null)
returns table (id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int,
  attempts int, crashes int, max_attempts int, priority int, claimed_ms float8, expires_ms float8,
  lease_generation bigint, available_ms float8, created_ms float8, idempotency_key text, last_error text)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off
set lock_timeout = '100ms' as $$
#variable_conflict use_column
declare
  c_rows constant int := 50;  -- in these buckets
  v_now timestamptz := coalesce(leasehold.allowed_now(p_now), clock_timestamp());
  v_class int := leasehold.lock_class('leasehold.inbox'::regclass);
  v_bucket int;
  v_count int;
  w record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then kind := 'look'; return next; return; end if;
  foreach v_bucket in array p_buckets loop
    if not pg_try_advisory_xact_lock(v_class, v_bucket) then kind := 'look'; return next; return; end if;
  end loop;
  select array_agg(l.tid) filter (where l.takes) as tids, coalesce(sum(l.bytes) filter (where l.takes), 0) as bytes, coalesce(bool_or(l.takes and not l.is_free), false) as is_touched,
         coalesce(bool_or(l.is_due and l.attempts > 0), false) as has_retries, coalesce(bool_or(l.is_lost), false) as has_lost, count(*) as rows, max(l.seq) filter (where l.takes) as taken_to,
         min(l.available_at) filter (where l.status = 'pending' and l.available_at > v_now) as due_at,
         count(*) filter (where l.status = 'processing' and l.claimed_by is distinct from p_worker)::int as busy,
         (select q.paused_at is null from leasehold.queues q where q.name = 'inbox')
           and not exists (select 1 from leasehold.workers k where k.id = p_worker and (k.generation <> p_generation or k.status = 'dead' and k.left_at is null))
           and not exists (select 1 from leasehold.inbox_hot_keys k where k.partition_bucket = any(p_buckets))
           and not exists (select 1 from unnest(p_buckets, p_turns) u(bucket, turn)
                           where not exists (select 1 from leasehold.inbox_turns t where t.partition_bucket = u.bucket and t.turn = u.turn)) as is_plain,
         (select min(t.claimed_seq) from leasehold.inbox_turns t where t.partition_bucket = any(p_buckets)) as claimed_seq
  into w
  from (
    select s.*, bool_and(s.is_due) over (partition by s.partition_key order by s.seq)
             and not bool_or(s.status = 'processing') over (partition by s.partition_key) as takes
    from (
      select j.*, j.status = 'pending' and leasehold.is_due(j.available_at, j.created_at, j.redriven_at, v_now) and (p_kinds is null or j.kind = any(p_kinds)) as is_due, j.status = 'processing' and (j.lease_expires_at <= v_now
               or exists (select 1 from leasehold.workers k where k.id = j.claimed_by and k.status = 'dead' and k.left_at is null)) as is_lost
      from unnest(p_buckets) b(bucket) cross join lateral (
        select i.ctid as tid, i.xmax = '0'::xid as is_free, i.partition_key, i.seq, i.kind, i.bytes, i.status, i.attempts, i.available_at, i.created_at, i.redriven_at, i.claimed_by, i.lease_expires_at
        from leasehold.inbox i
        where i.in_line and i.partition_bucket = b.bucket order by i.partition_key, i.seq limit c_rows + 1) j
      limit c_rows + 1
    ) s
  ) l;
  if not w.is_plain or w.is_touched or w.has_retries or w.has_lost or w.rows > least(c_rows, p_run, p_limit) or w.bytes > p_bytes then
    kind := 'look'; return next; return;
  end if;
  -- What is said besides jobs, as inbox_rest says it.
  attempts := 0; crashes := w.busy; max_attempts := w.bytes::int;
  seq := least(extract(epoch from w.due_at - v_now) * 1000, leasehold.inbox_next_due(p_buckets, v_now));
  if w.tids is null then return next; return; end if;
  if w.taken_to > w.claimed_seq then
    perform leasehold.inbox_note_taken(p_buckets, array_fill(w.taken_to, array[cardinality(p_buckets)]));
  end if;
  lease_generation := leasehold.next_token();
  perform leasehold.refuse_claim(k.id, p_generation, k.generation <> p_generation) from leasehold.workers k
    where k.id = p_worker and (k.generation <> p_generation or (p_generation is not null and k.last_seen_at + k.ttl <= v_now));
  claimed_ms := date_part('epoch', v_now) * 1000; expires_ms := claimed_ms + p_lease_ms;
  return next;
  return query update leasehold.inbox j set status = 'processing', claimed_by = p_worker, claimed_at = v_now,
      lease_expires_at = v_now + p_lease_ms * interval '1 ms', lease_generation = inbox_claim_woken.lease_generation, attempts = j.attempts + 1
    where j.ctid = any(w.tids) and j.status = 'pending' and leasehold.is_due(j.available_at, j.created_at, j.redriven_at, v_now)
    returning j.id, j.seq, j.kind, j.payload, nullif(j.headers, '{}'), j.partition_key, j.partition_bucket, j.attempts,
      nullif(j.crashes, 0), j.max_attempts, nullif(j.priority, 0), null::float8, null::float8, null::bigint,
      date_part('epoch', nullif(j.available_at, j.created_at)) * 1000, date_part('epoch', j.created_at) * 1000, j.idempotency_key, j.last_error;
  get diagnostics v_count = row_count;
  if v_count < cardinality(w.tids) then
    raise exception 'rows were changed while they were being claimed' using errcode = '40001';
  end if;
end
$$;
