--! scope: queue
--
-- The tables of one queue.
--
-- in_line is the predicate of the claim's index. Being generated from status and finished_at it does not change its value
-- when a claim turns `pending` into `processing`, so every claim, renewal and release is a HOT update (no index is touched).
-- A parked dead letter keeps finished_at null and with it its place; one that lets its key go on gets finished_at and leaves.

create sequence if not exists leasehold.inbox_seq;

create table if not exists leasehold.inbox (
  id uuid primary key default leasehold.uuid_v7(),
  seq bigint not null, -- drawn from inbox_seq by every way in (0004), after the transaction has got its id
  lease_generation bigint not null default 0,
  available_at timestamptz not null default now() check (isfinite(available_at)),
  created_at timestamptz not null default now(),
  claimed_at timestamptz,
  lease_expires_at timestamptz,
  finished_at timestamptz,
  redriven_at timestamptz, -- when a person made it due; counts while it is due since then (is_due)
  attempts int not null default 0,
  crashes int not null default 0,
  max_attempts int not null check (max_attempts between 1 and 1000), -- of errors; filled in from the queue's policy by every way in (0004)
  priority int not null default 0,
  -- size of payload and headers as text, which is how they travel: jsonb can be a thousand times smaller
  bytes int not null default 0 constraint payload_too_large check (bytes <= 67108864),
  -- bucket_of() written out: every insert would otherwise parse and put in place the function again, 40 us a statement
  partition_bucket int not null generated always as (((hashtextextended(partition_key, 0) & 9223372036854775807) % 360 /* buckets */)::int) stored,
  in_line boolean not null generated always as (status <> 'scheduled' and finished_at is null) stored,
  status text not null default 'pending' check (status in ('scheduled', 'pending', 'processing', 'dead_letter')),
  kind text not null check (octet_length(kind) between 1 and 256),
  partition_key text collate "C" not null check (octet_length(partition_key) between 1 and 512),
  claimed_by text,
  idempotency_key text,
  last_error text,
  headers jsonb not null default '{}',
  errors jsonb not null default '[]',
  payload jsonb not null
) with (
  fillfactor = 45, -- room on the page for the versions of one job's life
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1
);
-- For a table of an earlier version. Two steps and NOT VALID: together PostgreSQL would read the whole table under access exclusive, 2 s for 5 000 000 rows. The default meets the check.
alter table leasehold.inbox add column if not exists bytes int not null default 0;
alter table leasehold.inbox add column if not exists redriven_at timestamptz;
do $$
begin
  if not exists (select 1 from pg_constraint c where c.conrelid = 'leasehold.inbox'::regclass and c.conname = 'payload_too_large') then
    alter table leasehold.inbox add constraint payload_too_large check (bytes <= 67108864) not valid;
  end if;
end
$$;

-- What waits for its time, by bucket; dead letters by when they died. Neither holds rows that are in line.
create index if not exists inbox_scheduled on leasehold.inbox (partition_bucket, available_at, seq)
  where not in_line and finished_at is null;
create index if not exists inbox_finished on leasehold.inbox (finished_at, id) where finished_at is not null;

create table if not exists leasehold.inbox_archive (
  id uuid not null,
  seq bigint not null,
  lease_generation bigint not null,
  available_at timestamptz not null,
  created_at timestamptz not null,
  claimed_at timestamptz,
  finished_at timestamptz not null,
  attempts int not null,
  crashes int not null,
  max_attempts int not null,
  priority int not null,
  partition_bucket int not null,
  status text not null check (status in ('completed', 'discarded', 'dead_letter')),
  kind text not null,
  partition_key text collate "C" not null,
  claimed_by text,
  idempotency_key text,
  last_error text,
  headers jsonb not null,
  errors jsonb not null,
  payload jsonb not null
) partition by range (finished_at);

-- A table of an earlier version has a narrower check; what it holds meets the wider one, so nothing is read.
do $$
declare
  v_name text;
begin
  select c.conname into v_name from pg_constraint c
  where c.conrelid = 'leasehold.inbox_archive'::regclass and c.contype = 'c' and pg_get_constraintdef(c.oid) like '%discarded%'
    and pg_get_constraintdef(c.oid) not like '%dead_letter%';
  if v_name is not null then
    execute format('alter table leasehold.inbox_archive drop constraint %I', v_name);
    execute format('alter table leasehold.inbox_archive add constraint %I check (status in (''completed'', ''discarded'', ''dead_letter'')) not valid', v_name);
  end if;
end
$$;

create index if not exists inbox_archive_id_idx on leasehold.inbox_archive (id);
-- For lists of dead letters, of which there are few; it costs nothing for other rows.
create index if not exists inbox_archive_dead on leasehold.inbox_archive (id) where status = 'dead_letter';
create table if not exists leasehold.inbox_archive_rest partition of leasehold.inbox_archive default;
-- The retention deletes from the rest, oldest first; days are looked up in it.
create index if not exists inbox_rest_age on leasehold.inbox_archive_rest (finished_at);
-- Excludes nothing but the day that is being attached, in the session that attaches it (0002). Valid at once in an empty rest; any other is read later, by make_archive_days.
do $$
begin
  if not exists (select 1 from pg_constraint c where c.conrelid = 'leasehold.inbox_archive_rest'::regclass and c.conname = 'not_attaching') then
    alter table leasehold.inbox_archive_rest add constraint not_attaching
      check (finished_at < leasehold.attaching_day(0) or finished_at >= leasehold.attaching_day(1)) not valid;
    if not exists (select 1 from leasehold.inbox_archive_rest) then
      alter table leasehold.inbox_archive_rest validate constraint not_attaching;
    end if;
  end if;
end
$$;

-- Without a replica identity a publication for all tables would make the server refuse deletes. The whole row: a primary key would cost an index entry for every
-- archived job, and rows are deleted only from the rest. Partitions do not inherit it (0002 sets it for new days).
do $$
declare
  v_table regclass;
begin
  for v_table in
    select c.oid::regclass from pg_partition_tree('leasehold.inbox_archive') t join pg_class c on c.oid = t.relid where c.relreplident <> 'f' order by c.oid
  loop
    execute format('alter table %s replica identity full', v_table);
  end loop;
end
$$;

-- Strict queues: commit order and seq agree because a transaction that draws a place for a key holds the key's slot until its commit. At most
-- 128 locks a transaction, whatever the number of keys, taken in ascending order: with 1024 a few dozen large transactions filled the server's lock table.
create or replace function leasehold.inbox_slot(p_key text) returns int language sql immutable strict parallel safe as $$
  select 1024 + (pg_catalog.hashtextextended(p_key, 1) & 127)::int
$$;

create or replace function leasehold.inbox_lock_slots(p_keys text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock(leasehold.lock_class('leasehold.inbox'::regclass), s.slot)
  from (select distinct leasehold.inbox_slot(k) as slot from unnest(p_keys) k order by 1) s;
end
$$;

-- Turns scheduled rows that have fallen due into pending ones, at most p_limit, for buckets whose lock the caller holds
-- (order: key; rows of order: none need none). Each draws a new place, in the order in which they fell due: the draw happens
-- in an ordered subquery of its own, because an UPDATE evaluates nextval in whatever order its plan has, and in a statement that begins with the rows locked, so that
-- it is never evaluated again on a version that was committed meanwhile. In a strict queue only keys whose slot is free are promoted.
-- Locks rows with skip locked, found by the index inbox_scheduled.
create or replace function leasehold.inbox_promote(p_buckets int[], p_limit int, p_now timestamptz) returns int
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  v_ids uuid[];
  v_count int;
begin
  if (select q.is_strict from leasehold.queues q where q.name = 'inbox') then
    v_ids := leasehold.inbox_find_free(p_buckets, p_limit, p_now);
    v_ids := array(
      select j.id from leasehold.inbox j where j.id = any(v_ids) and j.status = 'scheduled' and j.available_at <= p_now for update skip locked);
  else
    v_ids := array(
      select d.id from unnest(p_buckets) b cross join lateral (
        select j.id from leasehold.inbox j
        where not j.in_line and j.finished_at is null and j.partition_bucket = b and j.available_at <= p_now
        order by j.available_at, j.seq limit p_limit for update skip locked) d
      limit p_limit);
  end if;
  if cardinality(v_ids) = 0 then return 0; end if;
  with placed as materialized (
    select o.id, nextval('leasehold.inbox_seq') as seq from (
      select j.id from leasehold.inbox j where j.id = any(v_ids) order by j.available_at, j.seq) o
  )
  update leasehold.inbox j set status = 'pending', seq = p.seq from placed p where j.id = p.id and j.status = 'scheduled';
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- For strict queues: the first due rows, at most p_limit, whose key's slot could be locked; it is tried, not waited for. A producer that holds a slot open must not hide the
-- keys of others, so when p_limit rows give less than half of that, it looks again without the rows of slots that are held, until no further such slot is met. Each pass but
-- the last meets one, so there are no more passes than slots. Locks no row.
create or replace function leasehold.inbox_find_free(p_buckets int[], p_limit int, p_now timestamptz) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  c_passes constant int := 129;  -- slots, and one
  v_ids uuid[]; v_slots int[]; v_found uuid[] := '{}';
  v_free int[] := '{}'; v_taken int[] := '{}'; v_met int;
begin
  for v_pass in 1..c_passes loop
    v_met := cardinality(v_taken);
    select array_agg(d.id), array_agg(d.slot) into v_ids, v_slots from (
      select w.id, w.slot from unnest(p_buckets) b cross join lateral (
        select j.id, s.slot from leasehold.inbox j cross join lateral (select leasehold.inbox_slot(j.partition_key) as slot) s
        where not j.in_line and j.finished_at is null and j.partition_bucket = b and j.available_at <= p_now and s.slot <> all(v_taken)
        order by j.available_at, j.seq limit p_limit) w
      limit p_limit) d;
    select v_free || coalesce(array_agg(t.slot) filter (where t.is_free), '{}'), v_taken || coalesce(array_agg(t.slot) filter (where not t.is_free), '{}')
    into v_free, v_taken from (
      select s.slot, pg_try_advisory_xact_lock(leasehold.lock_class('leasehold.inbox'::regclass), s.slot) as is_free
      from (select distinct u.slot from unnest(v_slots) u(slot) where u.slot <> all(v_free) order by 1) s offset 0) t;
    v_found := array(
      select u.id from unnest(v_ids, v_slots) with ordinality u(id, slot, n) where u.slot = any(v_free) order by u.n limit p_limit);
    exit when cardinality(v_found) * 2 >= p_limit or cardinality(v_taken) = v_met;
  end loop;
  return v_found;
end
$$;

-- Gives processing rows back: those of p_ids whose lease has run out, whose worker is marked dead, or which are the caller's own
-- under a token it does not know. Of a run only the first row can have been started, so only that one pays: p_payers, or the first
-- that is still in process if one was completed since the caller looked. It keeps its attempt and counts a crash, and it is dead-lettered when the crashes that
-- the policy of its kind or queue allows are used up, whatever its attempts. The others get their attempt back, and so does a row whose
-- claim this very process made without ever hearing the answer: nobody can have started it. A lease that ran out waits for the backoff; an orphan is due at once: its worker is marked
-- dead, was not seen for its TTL, or is another process of the id by now.
-- Locks rows in the order of their ids with skip locked and tests them again on the locked version, by inbox_pkey. With order: key a run goes back whole or not at all: if one of its rows
-- is locked, its worker may be settling it, and rows behind one that was given back would be completed before it.
create or replace function leasehold.inbox_recover(p_ids uuid[], p_payers uuid[], p_worker text, p_known bigint[],
  p_dead text[], p_now timestamptz) returns int
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
declare
  v_count int;
  v_locked uuid[];
  v_dead text;
  v_first_token bigint := (select w.first_token from leasehold.workers w where w.id = p_worker);
  v_max_crashes int;
  v_kinds jsonb;
begin
  select q.max_crashes, q.kinds into strict v_max_crashes, v_kinds from leasehold.queues q where q.name = 'inbox';
  v_locked := array(
    select j.id from leasehold.inbox j
    where j.id = any(p_ids) and j.status = 'processing'
      and (j.lease_expires_at <= p_now
           or (j.claimed_by = any(p_dead) and exists ( -- and has not come back and claimed it since
             select 1 from leasehold.workers k where k.id = j.claimed_by and k.status = 'dead' and k.left_at is null))
           or (p_known is not null and j.claimed_by = p_worker and j.lease_generation <> all(p_known)))
    order by j.id
    for update of j skip locked);
  with runs as materialized ( -- in a new snapshot: what was settled before the locks were won is not in process any more
    select (array_agg(j.id order by j.seq))[1] as first, array_agg(j.id) as ids
    from leasehold.inbox j cross join leasehold.queues q
    where j.id = any(p_ids) and j.status = 'processing' and q.name = 'inbox'
    group by j.partition_key, j.lease_generation, case when q."order" = 'none' then j.id end
    having bool_and(j.id = any(v_locked))
  ), lost as materialized (
    select j.id, p.pays, j.lease_expires_at <= p_now and not (j.claimed_by = any(p_dead)) and not exists (
             select 1 from leasehold.workers k
             where k.id = j.claimed_by and (k.last_seen_at + k.ttl <= p_now or j.lease_generation < k.first_token)) as ran_out,
           p.pays and j.crashes + 1 >= coalesce((v_kinds -> j.kind ->> 'maxCrashes')::int, v_max_crashes) as dies,
           j.claimed_by as holder, case when j.claimed_by = any(p_dead) then 'dead' when j.lease_expires_at <= p_now then 'lease' else 'unknown_token' end as rule
    from runs r join leasehold.inbox j on j.id = any(r.ids) cross join lateral (
      select (j.id = any(p_payers) or j.id = r.first) and not (p_known is not null and j.claimed_by = p_worker and j.lease_generation <> all(p_known)
        and coalesce(j.lease_generation > v_first_token, false)) as pays) p
  ), noted as (
    insert into leasehold.history (at, kind, queue, worker_id, count, detail)
    select p_now, 'rows:taken_over', 'inbox', p_worker, count(*), jsonb_build_object('from', l.holder, 'rule', l.rule, 'dead_letters', count(*) filter (where l.dies))
    from lost l group by l.holder, l.rule
  ), given_back as (
    update leasehold.inbox j set
      status = case when l.dies then 'dead_letter'
                    when l.pays and l.ran_out and q."order" = 'none' then 'scheduled' else 'pending' end,
      finished_at = case when l.dies and q.on_dead_letter = 'continue' then p_now end,
      available_at = case when l.pays and l.ran_out and not l.dies then p_now + leasehold.backoff(j.attempts, j.id)
                          else j.available_at end,
      attempts = case when l.pays then j.attempts else j.attempts - 1 end,
      crashes = case when l.pays then j.crashes + 1 else j.crashes end,
      claimed_by = null, claimed_at = null, lease_expires_at = null, lease_generation = 0,
      last_error = case when l.pays then e.message else j.last_error end,
      errors = case when l.pays then leasehold.with_error(j.errors, jsonb_build_object('at', p_now, 'attempt', j.attempts,
                 'worker', j.claimed_by, 'token', j.lease_generation::text, 'message', e.message, 'lost', true)) else j.errors end
    from lost l, leasehold.queues q,
      lateral (select case when l.ran_out then 'the lease ran out before the attempt was settled'
                           else 'the worker was lost before the attempt was settled' end as message) e
    where j.id = l.id and q.name = 'inbox'
    returning j.id, l.dies
  )
  select count(*), string_agg(g.id::text, ',') filter (where g.dies) into v_count, v_dead from given_back g;
  if v_dead is not null then
    perform set_config('leasehold.dead_letters', concat_ws(',', nullif(current_setting('leasehold.dead_letters', true), ''), v_dead), true);
  end if;
  return v_count;
end
$$;

-- The rows that inbox_recover has dead-lettered in this transaction, for the answer of the claim, each told once: of the kind `dead`, with the id in `partition_key`, the job's kind in
-- `idempotency_key`, its attempts and its error. Through a setting of the transaction, so that claims which take nothing over pay nothing for it.
create or replace function leasehold.inbox_tell_dead()
returns table (id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int,
  attempts int, crashes int, max_attempts int, priority int, claimed_ms float8, expires_ms float8,
  lease_generation bigint, available_ms float8, created_ms float8, idempotency_key text, last_error text)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_ids uuid[] := string_to_array(nullif(current_setting('leasehold.dead_letters', true), ''), ',')::uuid[];
begin
  if v_ids is null then return; end if;
  perform set_config('leasehold.dead_letters', '', true);
  return query select null::uuid, null::bigint, 'dead', null::jsonb, null::jsonb, j.id::text, null::int, j.attempts, null::int, null::int, null::int, null::float8, null::float8,
    null::bigint, null::float8, null::float8, j.kind, j.last_error
  from leasehold.inbox j where j.id = any(v_ids) order by j.seq;
end
$$;

-- What a claim says besides jobs: one row without an id and a bucket (0006). Without settings of its own, so that the planner puts it in place: called, it
-- would cost a quarter of a millisecond.
drop function if exists leasehold.inbox_rest(int, int, bigint);
drop function if exists leasehold.inbox_rest(int, int, bigint, bigint, timestamptz, bigint);
create or replace function leasehold.inbox_rest(p_retries int, p_busy int, p_due_ms bigint, p_token bigint, p_now timestamptz,
  p_lease_ms bigint, p_bytes int default 0, p_is_cut boolean default false)
returns table (id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int,
  attempts int, crashes int, max_attempts int, priority int, claimed_ms float8, expires_ms float8,
  lease_generation bigint, available_ms float8, created_ms float8, idempotency_key text, last_error text)
language sql immutable parallel safe as $$
  select null::uuid, p_due_ms, null::text, null::jsonb, null::jsonb, null::text, null::int, p_retries, p_busy, p_bytes, p_is_cut::int,
    pg_catalog.date_part('epoch', p_now) * 1000, pg_catalog.date_part('epoch', p_now) * 1000 + p_lease_ms, p_token, null::float8, null::float8,
    null::text, null::text
$$;

-- A row of a claim's answer that is no job; 0006 and 0007 say which kinds there are. Inlined as well.
create or replace function leasehold.inbox_note(p_kind text, p_bucket int, p_key text, p_seq bigint)
returns table (id uuid, seq bigint, kind text, payload jsonb, headers jsonb, partition_key text, partition_bucket int,
  attempts int, crashes int, max_attempts int, priority int, claimed_ms float8, expires_ms float8,
  lease_generation bigint, available_ms float8, created_ms float8, idempotency_key text, last_error text)
language sql immutable parallel safe as $$
  select null::uuid, p_seq, p_kind, null::jsonb, null::jsonb, p_key, p_bucket, null::int, null::int, null::int, null::int, null::float8, null::float8,
    null::bigint, null::float8, null::float8, null::text, null::text
$$;

-- In how many ms the first scheduled row of these buckets falls due. Locks nothing; one probe of inbox_scheduled a bucket.
create or replace function leasehold.inbox_next_due(p_buckets int[], p_now timestamptz) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  return (select ceil(extract(epoch from min(d.available_at) - p_now) * 1000) from unnest(p_buckets) b cross join lateral (
    select j.available_at from leasehold.inbox j
    where not j.in_line and j.finished_at is null and j.partition_bucket = b order by j.available_at, j.seq limit 1) d);
end
$$;
